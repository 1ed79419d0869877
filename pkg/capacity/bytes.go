package capacity

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of memory, written as Kubernetes does: 768Mi, 2Gi, 500M,
// or plain bytes.
type Bytes int64

// ErrBytes is wrapped by the errors of Bytes.UnmarshalText.
var ErrBytes = errors.New("not an amount of memory")

const (
	kibi = 1 << 10
	mebi = 1 << 20
	gibi = 1 << 30
	tebi = 1 << 40
	kilo = 1e3
	mega = 1e6
	giga = 1e9
	tera = 1e12
)

type unit struct {
	suffix string
	size   int64
}

// units lists the two-letter ones first, so that they are not taken for the
// others, and each group from large to small.
func units() []unit {
	return []unit{
		{"Ti", tebi},
		{"Gi", gibi},
		{"Mi", mebi},
		{"Ki", kibi},
		{"T", tera},
		{"G", giga},
		{"M", mega},
		{"k", kilo},
	}
}

// UnmarshalText reads an amount. The empty text is zero.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		*b = 0

		return nil
	}

	digits, size := s, int64(1)

	for _, u := range units() {
		if before, ok := strings.CutSuffix(s, u.suffix); ok {
			digits, size = before, u.size

			break
		}
	}

	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || int64(n) > math.MaxInt64/size {
		return fmt.Errorf("%w: %q; write it like 768Mi, 2Gi or 1073741824", ErrBytes, s)
	}

	*b = Bytes(int64(n) * size)

	return nil
}

// MarshalText writes an amount as String does.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String is exact: the largest binary unit that divides the amount.
func (b Bytes) String() string {
	for _, u := range units() {
		if strings.HasSuffix(u.suffix, "i") && b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.suffix
		}
	}

	return strconv.FormatInt(int64(b), 10)
}

// rounded is for people: whole mebibytes, if there is at least one.
func (b Bytes) rounded() Bytes {
	if b < mebi {
		return b
	}

	return b / mebi * mebi
}
