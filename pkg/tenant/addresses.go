package tenant

import (
	"fmt"
	"net/netip"
)

// The bounds of the blocks of a pool, which are ranges of VPCs.
const (
	MinBlockBits = 16
	MaxBlockBits = 24
)

// AddressPool is a range of addresses that is given out in blocks of one size, one
// for each topology of a tenant, so that no two networks overlap.
type AddressPool struct {
	// Range is private and IPv4.
	Range netip.Prefix `json:"range"`
	// Prefix is the length of a block's prefix: 20 makes blocks of 4096 addresses.
	Prefix int `json:"prefix"`
}

// Validate says what is wrong with a pool.
func (p AddressPool) Validate() error {
	switch {
	case !p.Range.IsValid() || !p.Range.Addr().Is4():
		return &InvalidError{
			Field: "range", Message: fmt.Sprintf("%s is no IPv4 range", p.Range), Hint: "give one such as 10.64.0.0/10",
		}
	case p.Range != p.Range.Masked():
		return &InvalidError{
			Field: "range", Message: fmt.Sprintf("%s has bits beyond its length", p.Range), Hint: "write " + p.Range.Masked().String(),
		}
	case !private(p.Range):
		return &InvalidError{
			Field: "range", Message: fmt.Sprintf("%s is not private", p.Range),
			Hint: "take 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or a part of one",
		}
	case p.Prefix < MinBlockBits || p.Prefix > MaxBlockBits:
		return &InvalidError{
			Field: "prefix", Message: fmt.Sprintf("%d is out of range", p.Prefix),
			Hint: fmt.Sprintf("give an integer from %d to %d", MinBlockBits, MaxBlockBits),
		}
	case p.Prefix <= p.Range.Bits():
		return &InvalidError{
			Field: "prefix", Message: fmt.Sprintf("%s has not even two blocks of length %d", p.Range, p.Prefix),
			Hint: "give a wider range or a longer prefix",
		}
	default:
		return nil
	}
}

// private reports whether a whole range is private, and not only its first address.
func private(p netip.Prefix) bool {
	for _, whole := range []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"} {
		within := netip.MustParsePrefix(whole)
		if within.Bits() <= p.Bits() && within.Contains(p.Addr()) {
			return true
		}
	}

	return false
}

// Blocks is how many blocks a valid pool has: a power of two.
func (p AddressPool) Blocks() int { return 1 << (p.Prefix - p.Range.Bits()) }

// Block is the i-th block of a valid pool, from 0.
func (p AddressPool) Block(i int) netip.Prefix {
	const lowestByte, perByte = 3, 8

	address := p.Range.Addr().As4()
	offset := uint32(i) << (p.Range.Addr().BitLen() - p.Prefix) //nolint:gosec // a pool has at most 2^16 blocks

	for b := lowestByte; b >= 0; b-- {
		address[b] |= byte(offset)
		offset >>= perByte
	}

	return netip.PrefixFrom(netip.AddrFrom4(address), p.Prefix)
}
