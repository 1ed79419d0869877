package localaws

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const (
	privateDir = 0o700
	executable = 0o111
)

// ErrNotBuilt is wrapped by Start if a binary that it needs is not there.
var ErrNotBuilt = errors.New("local mode is not built: run `make tools`")

// Options say how to run the local stand-in.
type Options struct {
	// BinDir is where `make tools` builds to: it has pulumi, kumo and plugins.
	BinDir string
	// Dir takes logs, the platform's state and work directories. What a former
	// run left there is replaced; Stop leaves it for whoever made it.
	Dir string
	// Log gets a line for each stage of the start. Nil means nobody wants it.
	Log io.Writer
	// Port is the loopback port of the endpoint, 0 for a free one.
	Port int
	// Catalog is the catalog file of the worker. The default is the shipped one
	// of the repository that BinDir is in.
	Catalog string
	// Cloud says how the simulator behaves.
	Cloud cloudsim.Options
	// Intercept, if set, is put before the emulator: tests let it delay, refuse
	// or watch requests.
	Intercept func(emulator http.Handler) http.Handler
}

// layout is where things are.
type layout struct {
	pulumi, emulator, plugins string
	catalog                   string
	dir, platform, work       string
}

func (o Options) layout() (layout, error) {
	bin, err := filepath.Abs(o.BinDir)
	if err != nil {
		return layout{}, fmt.Errorf("finding the tools: %w", err)
	}

	if o.Dir == "" {
		return layout{}, errNoDir
	}

	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return layout{}, fmt.Errorf("finding the directory: %w", err)
	}

	l := layout{
		pulumi:   filepath.Join(bin, "pulumi"),
		emulator: filepath.Join(bin, "kumo"),
		plugins:  filepath.Join(bin, "plugins"),
		catalog:  o.Catalog,
		dir:      dir,
		platform: filepath.Join(dir, "platform"),
		work:     filepath.Join(dir, "work"),
	}
	if l.catalog == "" {
		l.catalog = filepath.Join(filepath.Dir(bin), "infra", "catalog", "catalog.yaml")
	}

	return l, errors.Join(built(l.pulumi), built(l.emulator), built(l.plugin()))
}

var errNoDir = errors.New("local mode needs a directory for its state and logs")

// plugin is the provider plugin, under the name by which the CLI finds it.
func (l layout) plugin() string {
	folder := fmt.Sprintf("resource-%s-v%s", awsplugin.Name, awsplugin.Version)

	return filepath.Join(l.plugins, folder, "pulumi-resource-"+awsplugin.Name)
}

func built(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrNotBuilt, err)
	}

	if info.IsDir() || info.Mode()&executable == 0 {
		return fmt.Errorf("%w (%s is not a program)", ErrNotBuilt, path)
	}

	return nil
}

// prepare makes the directories anew. State of a former run describes an
// emulator that is gone.
func (l layout) prepare() error {
	for _, dir := range []string{l.platform, l.work} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing what a former run left: %w", err)
		}

		if err := os.MkdirAll(dir, privateDir); err != nil {
			return fmt.Errorf("making a directory: %w", err)
		}
	}

	return nil
}
