package registrytest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
)

func TestCheckAcceptsWhatMeansTheSameEverywhere(t *testing.T) {
	t.Parallel()

	for _, e := range []struct{ expression, condition, values string }{
		{"SET fence = :next", "", ":next"},
		{"SET fence = :next, rvn = :rvn REMOVE progress, not_before", "fence = :seen", ":next :rvn :seen"},
		{"REMOVE progress", "attribute_exists(pk) AND (fence < :f OR attribute_not_exists(lease_owner))", ":f"},
	} {
		require.NoError(t, registrytest.Check(e.expression, e.condition, strings.Fields(e.values)), e.expression)
	}
}

// Each of these does something else than it says on an emulator, on AWS, or on
// both.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()

	for name, e := range map[string]struct{ expression, condition, values, want string }{
		"new line in a condition":    {"SET a = :a", "b = :b\nAND fence = :f", ":a :b :f", "at"},
		"new line before a clause":   {"SET a = :a\nREMOVE b", "", ":a", "at"},
		"two spaces":                 {"SET a = :a  REMOVE b", "", ":a", "at"},
		"no space around =":          {"SET a=:a", "", ":a", "spaced"},
		"trailing space":             {"SET a = :a ", "", ":a", "at"},
		"placeholder of a name":      {"SET #a = :a", "", ":a", "at"},
		"reserved word":              {"SET owner = :a", "", ":a", "owner is a reserved word"},
		"reserved word, condition":   {"SET a = :a", "status = :b", ":a :b", "status is a reserved word"},
		"reserved word, function":    {"SET a = :a", "attribute_exists(ttl)", ":a", "ttl is a reserved word"},
		"document path":              {"SET a.b = :a", "", ":a", "at"},
		"attribute from attribute":   {"SET a = b", "", "", "is not a value"},
		"arithmetic":                 {"SET a = a + :a", "", ":a", "at"},
		"unknown clause":             {"ADD a :a", "", ":a", "writes nothing"},
		"lower-case keyword":         {"set a = :a", "", ":a", "reserved"},
		"value that is missing":      {"SET a = :a", "b = :b", ":a", "given are [:a]"},
		"value that is not used":     {"SET a = :a", "", ":a :b", "used are [:a]"},
		"value that begins alike":    {"SET a = :me, b = :message", "", ":me :message", "begins with :me"},
		"text after the condition":   {"SET a = :a", "b = :b garbage here", ":a :b", "left over"},
		"condition that ends early":  {"SET a = :a", "b = :b AND", ":a :b", "ends too early"},
		"attribute written twice":    {"SET a = :a, a = :b", "", ":a :b", "twice"},
		"attribute set and removed":  {"SET a = :a REMOVE a", "", ":a", "twice"},
		"nothing to write":           {"", "a = :a", ":a", "writes nothing"},
		"comparison that is unknown": {"SET a = :a", "b AND :b", ":a :b", "not a comparison"},
		"upper-case name":            {"SET Fence = :a", "", ":a", "not the name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, registrytest.Check(e.expression, e.condition, strings.Fields(e.values)), e.want)
		})
	}
}
