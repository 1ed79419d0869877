// Package inventory asks AWS what there is of a tenant, by tag and not by
// Pulumi's state, with the Resource Groups Tagging API. It is how a resource is
// found whose creation nobody lived to write down.
//
// It sees what that API sees, no more:
//
//   - one account and one region, those of the client; a tier with a role of its
//     own needs a client with that role (Assume);
//   - types that carry tags: an alias of a key, a rule or an association is
//     invisible, and goes or stays with what it belongs to;
//   - with a lag: a new or deleted resource may take minutes to appear or to
//     vanish. Whoever proves absence asks again later.
package inventory
