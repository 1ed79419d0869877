// Command schemas writes the JSON schemas in charts/schemas, by which
// kubeconform judges what the chart renders. They are data in the repository, so
// that a check needs no network: run this only to take up another version.
//
//	go run ./tools/schemas charts/schemas
//
// The schemas come from Go modules: the swagger of k8s.io/kubernetes for the
// built-in kinds, and the CustomResourceDefinitions of KEDA and of the
// Prometheus operator. Descriptions, defaults and status are left out, and so is
// every kind that the chart does not make; in return, objects are closed: a field
// that the API does not know is an error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

const (
	kubernetes         = "k8s.io/kubernetes@v1.35.3"
	keda               = "github.com/kedacore/keda/v2@v2.21.0"
	prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"

	privateDir  = 0o750
	privateFile = 0o600
)

// crd is a file with the definition of a kind.
type crd struct {
	module, path string
}

func crds() []crd {
	const (
		ofKEDA     = "config/crd/bases/keda.sh_"
		ofOperator = "example/prometheus-operator-crd/monitoring.coreos.com_"
	)

	return []crd{
		{keda, ofKEDA + "scaledobjects.yaml"},
		{keda, ofKEDA + "triggerauthentications.yaml"},
		{prometheusOperator, ofOperator + "podmonitors.yaml"},
		{prometheusOperator, ofOperator + "prometheusrules.yaml"},
		{prometheusOperator, ofOperator + "servicemonitors.yaml"},
	}
}

// builtIn are the definitions of kinds that every cluster has.
func builtIn() []string {
	return []string{
		"io.k8s.api.apps.v1.Deployment",
		"io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
		"io.k8s.api.core.v1.ConfigMap",
		"io.k8s.api.core.v1.Pod",
		"io.k8s.api.core.v1.Service",
		"io.k8s.api.core.v1.ServiceAccount",
		"io.k8s.api.networking.v1.NetworkPolicy",
		"io.k8s.api.policy.v1.PodDisruptionBudget",
	}
}

var (
	errUsage  = errors.New("usage: schemas DIRECTORY")
	errFormat = errors.New("not as expected")
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errUsage
	}

	if err := os.MkdirAll(args[0], privateDir); err != nil { //nolint:gosec // whoever runs this says where
		return fmt.Errorf("making the directory: %w", err)
	}

	definitions, err := swagger(ctx)
	if err != nil {
		return err
	}

	for _, name := range builtIn() {
		s, err := schemaOf(definitions, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}

		if err := s.write(args[0]); err != nil {
			return err
		}
	}

	for _, c := range crds() {
		s, err := schemaOfCRD(ctx, definitions, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}

		if err := s.write(args[0]); err != nil {
			return err
		}
	}

	return nil
}

// swagger reads the definitions of all built-in kinds.
func swagger(ctx context.Context) (map[string]any, error) {
	data, err := read(ctx, kubernetes, "api/openapi-spec/swagger.json")
	if err != nil {
		return nil, err
	}

	var document struct {
		Definitions map[string]any `json:"definitions"`
	}

	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("reading the swagger: %w", err)
	}

	return document.Definitions, nil
}

// read reads a file of a module, which it fetches if need be.
func read(ctx context.Context, module, path string) ([]byte, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module) //nolint:gosec // a constant of this file
	download.Dir = os.TempDir()                                                    // outside of any module, whose versions would count

	out, err := download.Output()
	if err != nil {
		return nil, fmt.Errorf("downloading %s: %w: %s", module, err, out)
	}

	var fetched struct {
		Dir string `json:"Dir"` //nolint:tagliatelle // the go command's
	}

	if err := json.Unmarshal(out, &fetched); err != nil {
		return nil, fmt.Errorf("downloading %s: %w", module, err)
	}

	data, err := os.ReadFile(filepath.Join(fetched.Dir, path))
	if err != nil {
		return nil, fmt.Errorf("reading a file of %s: %w", module, err)
	}

	return data, nil
}

// schema is the schema of one kind.
type schema struct {
	group, version, kind string
	root                 map[string]any
	definitions          map[string]any
}

// write writes the schema under the name that kubeconform asks for.
func (s schema) write(dir string) error {
	apiVersion, name := s.version, strings.ToLower(s.kind)
	if s.group != "" {
		apiVersion = s.group + "/" + s.version
		first, _, _ := strings.Cut(s.group, ".")
		name += "-" + first
	}

	properties, ok := s.root["properties"].(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %w: no properties", s.kind, errFormat)
	}

	delete(properties, "status")

	properties["apiVersion"] = map[string]any{"const": apiVersion}
	properties["kind"] = map[string]any{"const": s.kind}
	properties["metadata"] = map[string]any{"$ref": reference + objectMeta}

	s.root["required"] = append([]string{"apiVersion", "kind", "metadata"}, otherFields(s.root["required"])...)
	s.root["definitions"] = s.definitions
	s.root["$schema"] = "http://json-schema.org/draft-07/schema#"

	data, err := json.MarshalIndent(s.root, "", " ")
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}

	path := filepath.Join(dir, name+"-"+s.version+".json")

	//nolint:gosec // whoever runs this says where
	if err := os.WriteFile(path, append(data, '\n'), privateFile); err != nil {
		return fmt.Errorf("writing: %w", err)
	}

	return nil
}

func schemaOfCRD(ctx context.Context, definitions map[string]any, c crd) (schema, error) {
	data, err := read(ctx, c.module, c.path)
	if err != nil {
		return schema{}, err
	}

	var document struct {
		Spec struct {
			Group string
			Names struct{ Kind string }

			Versions []struct {
				Name   string
				Schema struct {
					OpenAPI map[string]any `yaml:"openAPIV3Schema"` //nolint:tagliatelle // the name that Kubernetes gave it
				}
			}
		}
	}

	if err := yaml.Unmarshal(data, &document); err != nil {
		return schema{}, fmt.Errorf("reading the definition: %w", err)
	}

	if len(document.Spec.Versions) != 1 {
		return schema{}, fmt.Errorf("%w: %d versions", errFormat, len(document.Spec.Versions))
	}

	only := document.Spec.Versions[0]
	s := schema{
		group: document.Spec.Group, version: only.Name, kind: document.Spec.Names.Kind,
		root: closed(only.Schema.OpenAPI), definitions: map[string]any{},
	}

	return s, s.define(definitions, objectMeta)
}
