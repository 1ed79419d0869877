// Package programs holds the Pulumi programs of the shipped catalog and what
// one needs to write more of them: New makes a program of a function with typed
// parameters, and Network, Key, Database, Balancer, Table, Queue, Identity and
// Service are components to build it of.
//
// Every resource is made by the topology's own provider, with the tags of
// Provider and a physical name that is a function of tenant, topology and part.
package programs
