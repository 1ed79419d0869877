package lease

import "context"

// Renew makes one renewal, as Keep does.
func (l *Lease) Renew(ctx context.Context) error { return l.renew(ctx, nil) }
