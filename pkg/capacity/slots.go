// Package capacity finds out how much memory there is and how many operations
// fit into it at once.
package capacity

import (
	"errors"
	"fmt"
)

// Config says what memory is for.
type Config struct {
	// MaxSlots bounds the operations at once, however much memory there is.
	MaxSlots int `env:"LESSOR_MAX_SLOTS, default=32"`
	// OperationMemory is what one operation may take at its peak, as PSS: the
	// CLI, the provider plugins and the program. One that takes more is stopped.
	OperationMemory Bytes `env:"LESSOR_OPERATION_MEMORY, default=768Mi"`
	// MemoryReserve is for the worker itself.
	MemoryReserve Bytes `env:"LESSOR_MEMORY_RESERVE, default=256Mi"`
	// MemoryLimit stands in for the limit of the control group; 0 finds that
	// out.
	MemoryLimit Bytes `env:"LESSOR_MEMORY_LIMIT"`
}

// ErrNoSlot says that not even one operation fits.
var ErrNoSlot = errors.New("no operation fits into the memory")

// Slots is how many operations fit into limit. Fewer than one is an error that
// says what to raise.
func Slots(limit Bytes, cfg Config) (int, error) {
	if cfg.OperationMemory <= 0 || cfg.MemoryReserve < 0 || cfg.MaxSlots < 1 {
		return 0, fmt.Errorf("%w: LESSOR_OPERATION_MEMORY and LESSOR_MAX_SLOTS must be above zero (they are %s and %d)"+
			" and LESSOR_MEMORY_RESERVE not below it (%s)", ErrNoSlot, cfg.OperationMemory, cfg.MaxSlots, cfg.MemoryReserve)
	}

	// Division first: reserve plus operation may be more than an int64 holds.
	slots := int64(limit-cfg.MemoryReserve) / int64(cfg.OperationMemory)
	if limit < cfg.MemoryReserve || slots < 1 {
		return 0, fmt.Errorf("%w: the limit is %s, but LESSOR_MEMORY_RESERVE=%s and LESSOR_OPERATION_MEMORY=%s need %s together;"+
			" raise the memory limit of the pod (or LESSOR_MEMORY_LIMIT, if that is set) to that, or lower one of the two",
			ErrNoSlot, limit.rounded(), cfg.MemoryReserve, cfg.OperationMemory, cfg.MemoryReserve+cfg.OperationMemory)
	}

	return int(min(slots, int64(cfg.MaxSlots))), nil
}
