package enqueuecli

import (
	"fmt"
	"io"
	"strings"
)

// printOrphans writes what was found, and makes the exit code of it.
func (a *app) printOrphans(f findings) error {
	f.sort()

	err := a.printFindings(f)
	if err != nil {
		return err
	}

	for _, missed := range f.NotLookedAt {
		a.talkf("not looked at: %s: %s", missed.subject(), missed.Error)
	}

	settled := 0

	for _, o := range f.Orphans {
		if !o.Running {
			settled++
		}
	}

	switch {
	case len(f.NotLookedAt) > 0:
		return fail(exitFailure, "see the lines above; the list is good for the rest", "places or states that could not be looked at: %d",
			len(f.NotLookedAt))
	case settled > 0:
		return fail(exitOrphans, "", "resources that no state knows: %d", settled)
	default:
		return nil
	}
}

func (u unseen) subject() string {
	at := u.Region + asRole(u.RoleARN)
	if u.Tenant == "" {
		return at
	}

	return strings.TrimRight("tenant "+u.Tenant.String()+" "+at, " ")
}

func (a *app) printFindings(f findings) error {
	if a.wantsJSON() {
		return a.printJSON(f)
	}

	if len(f.Orphans) == 0 && len(f.NotLookedAt) == 0 {
		a.talkf("there are no orphans")
	}

	if len(f.Orphans)+len(f.Kept) == 0 {
		return nil
	}

	return a.table(func(w io.Writer) {
		rows := func(state string, list []finding) {
			for _, o := range list {
				cells := []string{state, o.Tenant.String(), o.Type, o.ARN, o.Advice}
				for i, cell := range cells {
					cells[i] = orDash(printable(cell))
				}

				_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
			}
		}

		_, _ = fmt.Fprintln(w, "STATE\tTENANT\tTYPE\tARN\tWHAT TO DO")

		rows("orphan", f.Orphans)
		rows("kept", f.Kept)
	})
}
