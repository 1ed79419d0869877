package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ID names a tenant as upstream knows it.
type ID string

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// ErrInvalidID is wrapped by the error of ParseID.
var ErrInvalidID = errors.New("invalid tenant id")

// ParseID checks that s can name a tenant: one to 63 letters, digits,
// underscores, dots and hyphens, of which the first is a letter or a digit.
func ParseID(s string) (ID, error) {
	if !idPattern.MatchString(s) {
		return "", fmt.Errorf("%w %s: it must match %s", ErrInvalidID, quote(s), idPattern)
	}

	return ID(s), nil
}

// String returns the id as upstream knows it.
func (id ID) String() string { return string(id) }

const (
	slugHashLength = 8
	minSlugLength  = slugHashLength + 2
)

// Slug returns the tenant's part of every physical name: at most limit
// characters of a-z, 0-9 and single hyphens, starting with a letter. Where
// that is not the id itself, a short hash of the id ends the slug, so that two
// ids never share a physical name (AWS names are case-insensitive in places,
// and most forbid dots and underscores). limit is at least 10.
func (id ID) Slug(limit int) string {
	limit = max(limit, minSlugLength)

	var b strings.Builder

	for _, r := range strings.ToLower(string(id)) {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
			b.WriteByte('-')
		}
	}

	slug := strings.TrimRight(b.String(), "-")
	if slug == "" || slug[0] < 'a' {
		slug = "t" + slug
	}

	if slug == string(id) && len(slug) <= limit && !endsLikeHash(slug) {
		return slug
	}

	sum := sha256.Sum256([]byte(id))
	hash := hex.EncodeToString(sum[:])[:slugHashLength]
	keep := min(len(slug), limit-slugHashLength-1)

	return strings.TrimRight(slug[:keep], "-") + "-" + hash
}

// endsLikeHash reports whether a plain id looks like a hashed slug. Such an id
// is hashed too: otherwise "acme-1b2c3d4e" could be both an id of its own and
// the slug of another.
func endsLikeHash(slug string) bool {
	i := strings.LastIndexByte(slug, '-')
	if i < 0 || len(slug)-i-1 != slugHashLength {
		return false
	}

	return strings.Trim(slug[i+1:], "0123456789abcdef") == ""
}

// quote keeps hostile input from filling logs and error messages.
func quote(s string) string {
	const limit = 80

	quoted := strconv.Quote(s)
	if len(quoted) <= limit {
		return quoted
	}

	return strings.ToValidUTF8(quoted[:limit], "") + "…"
}
