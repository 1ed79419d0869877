package enqueuecli

import "context"

func (a *app) sender(ctx context.Context) (sender, error) {
	return a.connect.Sender(ctx, a.settings())
}

func (a *app) rows(ctx context.Context) (rows, error) {
	return a.connect.Rows(ctx, a.settings())
}

func (a *app) fleet(ctx context.Context) (fleet, error) {
	return a.connect.Fleet(ctx, a.settings())
}

func (a *app) deadLetters(ctx context.Context) (deadLetters, error) {
	return a.connect.DeadLetters(ctx, a.settings())
}
