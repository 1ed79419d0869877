package stategate

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// stampBytes is the length of a stamp in a body.
const stampBytes = 65

// stamp makes a body unlike every other one that was ever written, in white
// space after its end, which JSON allows. S3 makes the ETag of the content
// alone: without it, putting back what was read would change nothing, and an
// older operation's condition would still hold.
func stamp(body []byte, s Stamp) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%d", s.Fence, s.Operation, s.Write))
	bits := binary.BigEndian.Uint64(sum[:])

	stamped := make([]byte, 0, len(body)+stampBytes)
	stamped = append(stamped, body...)

	for i := range 64 {
		space := byte(' ')
		if bits>>i&1 == 1 {
			space = '\t'
		}

		stamped = append(stamped, space)
	}

	return append(stamped, '\n')
}

// unstamp takes the white space off again, or it would grow with every write of
// what was read.
func unstamp(body []byte) []byte { return bytes.TrimRight(body, " \t\r\n") }
