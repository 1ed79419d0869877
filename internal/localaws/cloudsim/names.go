package cloudsim

import "strings"

// claim gives r its id and makes sure that nobody has its name.
func (c *Cloud) claim(k kind, r *Resource) *Error {
	name := k.nameOf(r)
	r.ID = c.idOf(k, r)

	if k.name == "" {
		return nil
	}

	if k.names != nil && !k.names.MatchString(name) {
		return k.badName(name)
	}

	if k.rests && c.resting[place{r.Region, name}].After(c.at) {
		return k.tired()
	}

	for _, other := range c.resources[r.Type] {
		if other.claim() && !other.claimEnds.After(c.at) {
			c.drop(other)

			continue
		}

		if other.Text(k.name) == name && k.clash(r, other) {
			return k.refuse(r, other)
		}
	}

	return nil
}

func (k kind) nameOf(r *Resource) string {
	if k.lower {
		return strings.ToLower(r.Text(k.name))
	}

	return r.Text(k.name)
}

func (c *Cloud) idOf(k kind, r *Resource) string {
	switch {
	case k.id != nil:
		return k.id(c, r)
	case k.prefix != "":
		return newID(k.prefix)
	case k.name == "":
		return newUUID()
	default:
		return k.nameOf(r)
	}
}

// clash reports whether two resources of one name cannot both be.
func (k kind) clash(a, b *Resource) bool {
	return (k.global || a.Region == b.Region) && (k.scope == "" || a.Text(k.scope) == b.Text(k.scope))
}

// refuse says that another resource has the name of r.
func (k kind) refuse(r, other *Resource) *Error {
	if other.State == StateDeleting && k.leaving != nil {
		return k.leaving()
	}

	return k.taken(r)
}
