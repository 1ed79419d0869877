package stategate

import "strings"

// keys are where the CLI keeps what belongs to one stack.
type keys struct {
	meta       string
	checkpoint string
	backup     string // of the checkpoint, before each write
	tags       string
	locks      string
	history    string
	backups    string
}

const root = ".pulumi/"

func keysOf(project, stack string) keys {
	name := project + "/" + stack

	return keys{
		meta:       root + "meta.yaml",
		checkpoint: root + "stacks/" + name + ".json",
		backup:     root + "stacks/" + name + ".json.bak",
		tags:       root + "stacks/" + name + ".pulumi-tags",
		locks:      root + "locks/organization/" + name + "/",
		history:    root + "history/" + name + "/",
		backups:    root + "backups/" + name + "/",
	}
}

// CheckpointKey is where a stack's state is in its bucket.
func CheckpointKey(project, stack string) string { return keysOf(project, stack).checkpoint }

// LockPrefix is where the locks of a stack are in its bucket.
func LockPrefix(project, stack string) string { return keysOf(project, stack).locks }

// class says what becomes of a request for a key.
type class int

const (
	// classForeign belongs to somebody else, and is refused.
	classForeign class = iota
	// classLocal lives as long as the operation and never reaches the bucket.
	classLocal
	classCheckpoint
	// classHistory is an entry of the stack's history: written, never read.
	classHistory
)

func (k keys) classify(key string) class {
	switch {
	case key == k.checkpoint:
		return classCheckpoint
	case strings.HasPrefix(key, k.history) && strings.HasSuffix(key, ".history.json"):
		return classHistory
	case key == k.meta, key == k.backup, key == k.tags,
		strings.HasPrefix(key, k.locks), strings.HasPrefix(key, k.history), strings.HasPrefix(key, k.backups):
		return classLocal
	default:
		return classForeign
	}
}
