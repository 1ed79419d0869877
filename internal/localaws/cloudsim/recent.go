package cloudsim

// recent keeps the newest items and numbers all that there ever were from 1.
type recent[T any] struct {
	limit int
	last  int64
	items []T
}

func (r *recent[T]) add(numbered func(sequence int64) T) {
	r.last++

	if len(r.items) == r.limit {
		r.items = r.items[1:]
	}

	r.items = append(r.items, numbered(r.last))
}

// after returns the items with a higher number.
func (r *recent[T]) after(sequence int64) []T {
	skip := min(max(sequence-r.forgotten(), 0), int64(len(r.items)))

	return append([]T{}, r.items[skip:]...)
}

// forgotten is the number of the newest item that is no longer kept.
func (r *recent[T]) forgotten() int64 { return r.last - int64(len(r.items)) }
