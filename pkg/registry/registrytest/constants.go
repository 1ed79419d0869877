package registrytest

import (
	"go/ast"
	"go/constant"
	goparser "go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fragmentPattern finds constants that are expressions or parts of them.
var fragmentPattern = regexp.MustCompile(`^(SET|REMOVE) | = :|< :|attribute_(not_)?exists\(|^ REMOVE |^, [a-z_]+(, [a-z_]+)*$`)

// Expressions returns every constant of the package in dir that is a DynamoDB
// expression or a part of one, by its name, from the source: a new one cannot
// escape the check.
func Expressions(tb testing.TB, dir string) map[string]string {
	tb.Helper()

	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		tb.Fatal(err)
	}

	set := token.NewFileSet()

	var files []*ast.File

	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}

		source, err := fs.ReadFile(os.DirFS(dir), filepath.Base(path))
		if err != nil {
			tb.Fatal(err)
		}

		file, err := goparser.ParseFile(set, path, source, goparser.SkipObjectResolution)
		if err != nil {
			tb.Fatal(err)
		}

		files = append(files, file)
	}

	// Imports are not resolved: constants of text need none, and what cannot
	// be resolved is no error of ours.
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check(dir, set, files, nil)

	found := map[string]string{}

	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || c.Val().Kind() != constant.String {
			continue
		}

		if value := constant.StringVal(c.Val()); fragmentPattern.MatchString(value) {
			found[name] = value
		}
	}

	return found
}
