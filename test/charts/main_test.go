package charts_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain has properties checked less often than usual, since each check is a
// run of helm; every run of the tests checks other cases. The command line
// wins.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}

	os.Exit(m.Run())
}
