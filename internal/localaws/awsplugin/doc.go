// Package awsplugin is the local stand-in for the AWS resource plugin of
// Pulumi: it goes by the same name and version and serves, to the real Pulumi
// engine, exactly the resource types that infra/ uses. Every resource is kept by
// the cloud simulator, with AWS's rules; those whose data somebody uses
// (queues, tables, buckets, keys, topics) are made in the emulator too.
//
// What a type is like is data: see the types_*.go files. Where the real plugin is
// installed, the same programs and commands use that one.
package awsplugin

// Version is that of pulumi-aws in go.mod, which the Pulumi CLI asks for by
// name and version.
const Version = "6.83.4"

// Name is the plugin's name, the first part of its types' tokens.
const Name = "aws"
