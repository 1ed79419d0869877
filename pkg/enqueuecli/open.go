package enqueuecli

import "context"

// The connector is part of this package, so its errors need no wrapping.

func (a *app) sender(ctx context.Context) (sender, error) {
	return a.connect.Sender(ctx, a.settings()) //nolint:wrapcheck // see above
}

func (a *app) rows(ctx context.Context) (rows, error) {
	return a.connect.Rows(ctx, a.settings()) //nolint:wrapcheck // see above
}

func (a *app) fleet(ctx context.Context) (fleet, error) {
	return a.connect.Fleet(ctx, a.settings()) //nolint:wrapcheck // see above
}

func (a *app) deadLetters(ctx context.Context) (deadLetters, error) {
	return a.connect.DeadLetters(ctx, a.settings()) //nolint:wrapcheck // see above
}
