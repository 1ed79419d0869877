package cloudsim

import (
	"slices"
	"strings"
)

// list returns copies of the resources that the filter selects, oldest first.
func (c *Cloud) list(f Filter) []Resource {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	var list []Resource

	for _, ofType := range c.resources {
		for _, r := range ofType {
			if f.matches(r) {
				list = append(list, r.clone())
			}
		}
	}

	slices.SortFunc(list, func(a, b Resource) int {
		if order := a.CreatedAt.Compare(b.CreatedAt); order != 0 {
			return order
		}

		return strings.Compare(a.Type+a.ID, b.Type+b.ID)
	})

	return list
}
