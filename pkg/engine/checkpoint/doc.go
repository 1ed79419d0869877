// Package checkpoint reads the state of a stack as the Pulumi CLI writes it to a
// DIY backend, and judges whether it may be used. It is pure, and decodes no more
// than lessor needs: a checkpoint of many MiB must fit beside an operation.
package checkpoint
