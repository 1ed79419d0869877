package enqueuecli

const jsonHelp = `With --output json the data on standard output is JSON. Fields are only ever
added: ignore those you do not know. A field without a value is left out. Times
are RFC 3339 in UTC. Errors and hints stay text on standard error; the exit code
tells what happened.

What sends answers with one receipt (send of several events: one per line):

  {
    "tenant": "acme",
    "type": "lessor.tenant.created.v1",
    "eventId": "01J…",           --id, or a new ULID
    "messageId": "…",            of the queue; absent if nothing was sent
    "result": "settled",         sent; duplicate: accepted before; with --wait
                                 also settled, failed, stale: all it says is
                                 older than what is known, kept: known, but the
                                 tenant was never created
    "sequence": 4,               with --wait: the sequence that contains it
    "seconds": 35.2,             with --wait: how long it took
    "status": { … }              with --wait: as below
  }

With --dry-run the data is the message itself, in every form of output.

status TENANT:

  {
    "tenant": "acme",
    "state": "running",          settled, running, pending, backoff, held,
                                 failed, awaiting-creation, awaiting-approval,
                                 awaiting-cutover
    "settled": false,            nothing is left to do (also after a failure)
    "phase": "active",           what it shall be: active, suspended, absent
    "tier": "standard", "region": "eu-west-1", "parameters": { … },
    "release": "…",              of what is applied
    "sequence": {"desired": 4, "applied": 3, "failed": 0},
    "operation": {"id": "…", "step": "up", "done": 7, "planned": 12,
                  "startedAt": "…", "updatedAt": "…"},
    "lease": {"owner": "…", "fence": 7, "until": "…"},
    "hold": "reason",
    "notBefore": "…", "attempts": 2,
    "dueAt": "…",                when the clock makes work
    "change": {"id": "…",        a tier change that is under way
               "stage": "baking",       building: the new tier is being made,
                                        cutover: it waits for its data,
                                        baking: the old one stands by,
                                        retiring: it is being removed
               "tier": "…", "generation": 1,   what stands beside what serves
               "deadline": "…",         cutover: when the waiting ends
               "until": "…",            baking: when the old one goes
               "kept": "…",             why it does not go by itself
               "next": "…"},            what people can do
    "pending": {"operation": "…", "sequence": 4, "at": "…",
                "report": [ as below ], "next": "…"},   waits for approval
    "applied": {"phase": "…", "tier": "…", "region": "…", "program": "…",
                "generation": 1, "build": "…", "at": "…"},
    "stack": {"project": "…", "name": "…", "shard": "…"},
    "outputs": { … },            without secrets
    "last": {"operationId": "…", "steps": ["up"], "sequence": 3,
             "startedAt": "…", "seconds": 41, "changes": {"create": 12},
             "resources": 12,       how many there are, if that is known
             "types": {"aws:ec2/vpc:Vpc": 1},   as far as ever known
             "failure": {"kind": "…", "message": "…", "hint": "…",
                         "resource": "…", "step": "…"},
             "report": [{"type": "…", "name": "…", "action": "…",
                         "properties": ["…"], "missing": ["…"],
                         "extra": ["…"], "drift": true}],
             "repairs": [{"action": "…", "detail": "…"}],
             "orphans": ["arn:…"]},
    "history": [{"operationId": "…", "steps": ["up"], "sequence": 3,
                 "startedAt": "…", "seconds": 41,   the last ten, newest first
                 "kind": "…", "message": "…"}],     of a failure
    "createdAt": "…", "updatedAt": "…",
    "fleet": {"paused": true, "reason": "…", "at": "…"}   only if it is paused
  }

With --watch there is one such document per line, for each change.

list:             {"fleet": {"paused": false}, "tenants": [ status, … ],
                   "after": "globex"}   there are more after this one
hold:             {"tenant": "acme", "hold": "reason"}
pause, unpause:   {"paused": true, "reason": "…"}
dlq list:         {"messages": [ dead letter without its body, … ]}
dlq show:         {"id": "…", "reasonCode": "…", "reason": "…", "tenant": "…",
                   "type": "…", "originalMessageId": "…", "sentAt": "…",
                   "receiveCount": 1, "body": "…"}
dlq redrive:      {"redriven": ["id", … ]}
dlq drop:         {"dropped": ["id", … ]}
orphans:          {"orphans": [ finding, … ], "kept": [ finding, … ],
                   "notLookedAt": [{"tenant": "…", "region": "…",
                                    "roleArn": "…", "error": "…"}]}
a finding:        {"arn": "…", "type": "ec2:vpc", "tenant": "acme",
                   "reason": "stray",  pending: the next operation adopts it,
                                       deleted: its tenant is gone, no-row: no
                                       tenant of this fleet, kept: on purpose
                   "running": true,    only while an operation of the tenant
                                       runs, which may know it in a moment
                   "advice": "…"}
version:          {"version": "…", "go": "…"}

hold, pause, unpause and dlq drop have "dryRun": true after a --dry-run.`
