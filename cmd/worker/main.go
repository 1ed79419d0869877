// Command worker settles tenants: see `worker help`.
package main

import (
	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/worker"
)

func main() { worker.Main(programs.All()) }
