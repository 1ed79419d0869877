//go:build linux

// Package k8s_test installs the chart on a real control plane (etcd,
// kube-apiserver, kube-controller-manager and KEDA) and looks at how many
// replicas are asked for while messages come and go. There are no nodes, so
// pods stay pending. `make e2e-k8s` builds what it needs and runs it.
package k8s_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// guardVariable is set by `make e2e-k8s`.
const guardVariable = "E2E_K8S"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func guard(t *testing.T) {
	t.Helper()

	if os.Getenv(guardVariable) == "" {
		t.Skip("a control plane takes long to build: make e2e-k8s runs this")
	}
}
