// Command pulumi-resource-aws is the local stand-in for the AWS plugin of
// Pulumi; see package awsplugin.
package main

import (
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
)

func main() {
	err := provider.Main(awsplugin.Name, func(*provider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		return awsplugin.New(awsplugin.Options{
			Endpoint: os.Getenv("AWS_ENDPOINT_URL"), Region: os.Getenv("AWS_REGION"), Exit: os.Exit,
		}), nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "pulumi-resource-aws:", err)
		os.Exit(1)
	}
}
