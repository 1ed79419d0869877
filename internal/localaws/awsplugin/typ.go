package awsplugin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// resourceType is what the plugin knows of a type.
type resourceType struct {
	// typ is the type's token.
	typ string
	// service, noun and the operations make error texts as those of the
	// real plugin are.
	service string
	noun    string
	calls   calls
	inputs  map[string]property
	// outputs are the properties that only AWS sets.
	outputs []string
	// name is the input that is made up where it is not given.
	name autoName
	// taggable types have tags and tagsAll.
	taggable bool
	// timeout bounds each operation unless the program says otherwise.
	timeout time.Duration
	// data makes the resource in the emulator too; nil if nobody uses it.
	data *dataPlane
	// idOf turns the other forms of an import id into the one that the
	// resource has here; nil where there is one form. It returns "" for the
	// id of somebody else's.
	idOf func(c *clients, id string) string
	// drain are inputs that a resource gets before it is deleted.
	drain map[string]any
}

type calls struct{ create, read, update, remove string }

// property is an input.
type property struct {
	required bool
	// replace marks what AWS cannot change.
	replace bool
	// computed inputs are chosen by AWS where they are not given.
	computed bool
	secret   bool
	// fallback is the value where none is given.
	fallback any
	// form is what the real plugin checks before it calls AWS.
	form *regexp.Regexp
	hint string
	// least and most bound a number where most is not 0.
	least, most float64
}

type autoName struct {
	property string
	prefix   string
	limit    int
}

// Types of the plugin, by token.
type registry map[string]*resourceType

func newRegistry() registry {
	all := registry{}

	for _, part := range [][]resourceType{
		ec2Types(), peeringTypes(), kmsTypes(), rdsTypes(), sqsTypes(), dynamoTypes(), s3Types(), snsTypes(),
		ecsTypes(), lbTypes(), iamTypes(), logsTypes(), watchTypes(),
	} {
		for _, t := range part {
			if t.timeout == 0 {
				t.timeout = defaultTimeout
			}

			if t.taggable {
				t.inputs[tags] = property{}
				t.outputs = append(t.outputs, tagsAll)
			}

			all[t.typ] = &t
		}
	}

	return all
}

const (
	tags           = "tags"
	tagsAll        = "tagsAll"
	defaultTimeout = 20 * time.Minute
	managed        = "Managed by Pulumi"
)

// find returns the type, or an error that names it and what there is.
func (r registry) find(token string) (*resourceType, error) {
	if t, ok := r[token]; ok {
		return t, nil
	}

	return nil, fmt.Errorf("%w %q: the local pulumi-resource-%s has only %s; add it in internal/localaws/awsplugin or use the real plugin",
		errUnknownType, token, Name, strings.Join(slices.Sorted(maps.Keys(r)), ", "))
}

// Tokens lists the types that the plugin has.
func Tokens() []string { return slices.Sorted(maps.Keys(newRegistry())) }

// subject names a resource in an error as the real plugin does.
func (t *resourceType) subject(id string) string {
	if id == "" {
		return t.noun
	}

	return t.noun + " (" + id + ")"
}
