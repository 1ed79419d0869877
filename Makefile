# Everything is built into .bin; nothing is installed outside of this folder.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .bin
# The local plugin poses as this version of pulumi-aws, the one programs are
# written against.
AWS_VERSION = $(shell awk '$$1 == "github.com/pulumi/pulumi-aws/sdk/v6" { print $$2 }' go.mod)
PLUGIN = $(BIN)/plugins/resource-aws-$(AWS_VERSION)/pulumi-resource-aws

.PHONY: help
help: ## print this
	@awk -f tools/help.awk $(MAKEFILE_LIST)

##@ See it work
.PHONY: demo
demo: tools build ## provision three tenants locally, change and delete them, clean up
	@$(BIN)/demo

.PHONY: local
local: tools build ## run the stand-in for AWS and a worker until Ctrl-C
	@$(BIN)/localaws up --worker

##@ Build
.PHONY: build
build: plugin ## build worker, enqueue, localaws and demo into .bin
	@go build -o $(BIN)/ ./cmd/worker ./cmd/enqueue ./internal/localaws/cmd/localaws ./internal/demo

.PHONY: tools
tools: pulumi kumo plugin ## build what local mode needs: Pulumi CLI, emulator, provider plugin

.PHONY: pulumi
pulumi:
	@tools/pulumi.sh

.PHONY: kumo
kumo:
	@tools/build-tool.sh kumo github.com/sivchari/kumo/cmd/kumo 1-2

.PHONY: plugin
plugin:
	@go build -o $(PLUGIN) ./internal/localaws/cmd/pulumi-resource-aws

.PHONY: helm
helm:
	@tools/build-tool.sh helm helm.sh/helm/v4/cmd/helm 2-4

.PHONY: kubeconform
kubeconform:
	@tools/build-tool.sh kubeconform github.com/yannh/kubeconform/cmd/kubeconform 1

.PHONY: promtool
promtool:
	@tools/promtool.sh

.PHONY: golangci-lint
golangci-lint:
	@tools/build-tool.sh golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint 2-4

.PHONY: image
image: ## build the image IMAGE (lessor) from BUILDER with buildah or docker: docs/image.md
	@image/build.sh

##@ Check
.PHONY: test
test: tools build helm kubeconform ## unit, contract and end-to-end tests
	@tools/test.sh all

.PHONY: test-unit
test-unit: ## unit tests; needs no tools
	@tools/test.sh unit

.PHONY: conformance
conformance: kumo ## the contract suites of queue, registry and lease on moto server as well
	@tools/conformance.sh

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZ_FOR (30s), one after another
	@tools/fuzz.sh

# A short run, always with the same seed, is part of `make test`.
.PHONY: chaos
chaos: tools build ## kill, freeze and cut off a fleet for CHAOS_FOR (3m), by CHAOS_SEED
	@CHAOS_FOR=$${CHAOS_FOR:-3m} go test -count=1 -timeout=0 -v -run '^TestChaos$$' ./test/chaos

# Nothing else should run on the machine meanwhile.
.PHONY: bench
bench: tools build ## measure everything beside the plain way, into docs/performance.md (20 minutes)
	@go build -o $(BIN)/bench ./test/bench
	@$(BIN)/bench

.PHONY: bench-short
bench-short: tools build ## count processes, requests and operations; fail if one is worse than promised
	@go build -o $(BIN)/bench ./test/bench
	@$(BIN)/bench --short

.PHONY: charts
charts: helm kubeconform alerts ## lint and render the chart, and hold it against the schemas of Kubernetes and KEDA
	@go test -count=1 ./test/charts

KUBERNETES = $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2 }' tools/kubernetes/go.mod)
KUBERNETES_LDFLAGS = -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)

.PHONY: kubernetes
kubernetes:
	@tools/build-tool.sh kubernetes/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver 8-20 "$(KUBERNETES_LDFLAGS)"
	@tools/build-tool.sh kubernetes/kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager 2-5 "$(KUBERNETES_LDFLAGS)"

.PHONY: keda
keda:
	@tools/build-tool.sh keda/keda-operator github.com/kedacore/keda/v2/cmd/operator 11-25
	@tools/build-tool.sh keda/keda-adapter github.com/kedacore/keda/v2/cmd/adapter 1-5

# Kubernetes and KEDA take long to build the first time, so `make test` leaves
# this out.
.PHONY: e2e-k8s
e2e-k8s: kubernetes keda helm kumo ## let KEDA scale the chart on a Kubernetes without nodes; needs etcd-server
	@E2E_K8S=1 go test -count=1 -timeout=30m -v ./test/k8s

.PHONY: alerts
alerts: promtool ## check alerts, dashboard and runbook, and let every alert fire and stay silent
	@go test -count=1 ./test/alerts

.PHONY: lint
lint: golangci-lint ## golangci-lint, and shellcheck where it is installed
	@$(BIN)/golangci-lint run ./...
	@if command -v shellcheck >/dev/null; then shellcheck tools/*.sh image/*.sh .ci/run; fi

.PHONY: fmt
fmt: golangci-lint ## format the code
	@$(BIN)/golangci-lint fmt ./...

.PHONY: generate
generate: ## write generated files again
	@go generate ./...

.PHONY: verify
verify: generate fmt ## fail if generated or formatted files differ from what is committed
	@go mod tidy -diff
	@git diff --exit-code --stat

.PHONY: clean
clean: ## remove what was built, except tools that take minutes
	@rm -rf $(BIN)/plugins $(BIN)/{worker,enqueue,localaws,demo,bench} coverage.out
