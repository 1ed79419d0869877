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

.PHONY: golangci-lint
golangci-lint:
	@tools/build-tool.sh golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint 2-4

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

.PHONY: charts
charts: helm kubeconform ## lint and render the chart, and hold it against the schemas of Kubernetes and KEDA
	@go test -count=1 ./test/charts

.PHONY: lint
lint: golangci-lint ## golangci-lint, and shellcheck where it is installed
	@$(BIN)/golangci-lint run ./...
	@if command -v shellcheck >/dev/null; then shellcheck tools/*.sh .ci/run; fi

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
	@rm -rf $(BIN)/plugins $(BIN)/{worker,enqueue,localaws,demo} coverage.out
