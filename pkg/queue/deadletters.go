package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// browseVisibility hides what was looked at until the whole queue was seen.
	// Everything that stays is given back at the end.
	browseVisibility = 2 * time.Minute
	// browseWait makes SQS ask all of its servers: a poll without a wait asks
	// a few and may find nothing in a queue that is not empty.
	browseWait = time.Second
	// giveBackTimeout bounds the giving back, which goes on after a cancelled
	// command.
	giveBackTimeout = 30 * time.Second
)

// DeadLetters looks after the messages that were set aside. It needs no
// permission for SQS's own move tasks, which refuse messages that were sent to
// the dead-letter queue and not moved there by SQS.
type DeadLetters struct {
	api API
	cfg Config
}

// NewDeadLetters returns the dead-letter queue that cfg names.
func NewDeadLetters(api API, cfg Config) *DeadLetters { return &DeadLetters{api: api, cfg: cfg} }

// DeadLetter is a message that was set aside.
type DeadLetter struct {
	ID string
	// ReasonCode and Reason are "" for a message that SQS moved by itself
	// because it was received too often.
	ReasonCode string
	Reason     string
	// OriginalID is the id that the message had on the queue of events.
	OriginalID    string
	SentAt        time.Time
	FirstReceived time.Time
	// ReceiveCount counts looks at it, this one included.
	ReceiveCount int
	Body         []byte
}

// List returns up to limit messages. To look at a message is to receive it:
// for a moment it is hidden from others, and its receive count grows.
func (d *DeadLetters) List(ctx context.Context, limit int) ([]DeadLetter, error) {
	var found []DeadLetter

	err := d.browse(ctx, func(_ context.Context, m Message) (verdict, error) {
		found = append(found, newDeadLetter(m))

		return verdict{enough: len(found) >= limit}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing dead letters: %w", err)
	}

	return found, nil
}

// Show returns one message, or ErrNotFound.
func (d *DeadLetters) Show(ctx context.Context, id string) (DeadLetter, error) {
	var found *DeadLetter

	err := d.browse(ctx, func(_ context.Context, m Message) (verdict, error) {
		if m.ID == id {
			letter := newDeadLetter(m)
			found = &letter
		}

		return verdict{enough: found != nil}, nil
	})

	switch {
	case err != nil:
		return DeadLetter{}, fmt.Errorf("showing dead letter %s: %w", id, err)
	case found == nil:
		return DeadLetter{}, fmt.Errorf("message %s is %w", id, ErrNotFound)
	}

	return *found, nil
}

// Redrive sends the messages back to the queue of events and deletes them here.
// It returns the ids that it is done with, also along with an error. Ids that
// are not there give ErrNotFound.
func (d *DeadLetters) Redrive(ctx context.Context, ids ...string) ([]string, error) {
	done, err := d.each(ctx, ids, d.redrive)
	if err != nil {
		return done, fmt.Errorf("redriving dead letters: %w", err)
	}

	return done, nil
}

// RedriveAll is Redrive for every message that is there.
func (d *DeadLetters) RedriveAll(ctx context.Context) ([]string, error) {
	var done []string

	err := d.browse(ctx, func(ctx context.Context, m Message) (verdict, error) {
		if err := d.redrive(ctx, m); err != nil {
			return verdict{}, err
		}

		done = append(done, m.ID)

		return verdict{gone: true}, nil
	})
	if err != nil {
		return done, fmt.Errorf("redriving dead letters: %w", err)
	}

	return done, nil
}

// Drop deletes the messages for good and returns the ids that it is done with.
func (d *DeadLetters) Drop(ctx context.Context, ids ...string) ([]string, error) {
	done, err := d.each(ctx, ids, d.drop)
	if err != nil {
		return done, fmt.Errorf("dropping dead letters: %w", err)
	}

	return done, nil
}

// each does something that makes them go to the messages with these ids.
func (d *DeadLetters) each(ctx context.Context, ids []string, do func(context.Context, Message) error) ([]string, error) {
	done := make([]string, 0, len(ids))

	err := d.browse(ctx, func(ctx context.Context, m Message) (verdict, error) {
		if !slices.Contains(ids, m.ID) {
			return verdict{}, nil
		}

		if err := do(ctx, m); err != nil {
			return verdict{}, err
		}

		done = append(done, m.ID)

		return verdict{gone: true, enough: len(done) == len(ids)}, nil
	})
	if err != nil {
		return done, err
	}

	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(done, id) })
	if len(missing) > 0 {
		return done, fmt.Errorf("%s: %w", strings.Join(missing, ", "), ErrNotFound)
	}

	return done, nil
}

func (d *DeadLetters) redrive(ctx context.Context, m Message) error {
	attributes := m.sent
	for _, ours := range []string{AttributeReasonCode, AttributeReason, AttributeOriginalID, AttributeFirstReceived} {
		delete(attributes, ours)
	}

	if _, err := send(ctx, d.api, d.cfg.URL, m.Body, attributes); err != nil {
		return fmt.Errorf("sending message %s to %w", m.ID, explain(err, variableURL, d.cfg.URL, "sqs:SendMessage"))
	}

	return d.drop(ctx, m)
}

func (d *DeadLetters) drop(ctx context.Context, m Message) error {
	if err := remove(ctx, d.api, variableDeadLetterURL, d.cfg.DeadLetterURL, m); err != nil {
		return fmt.Errorf("deleting message %s: %w", m.ID, err)
	}

	return nil
}

// verdict is what became of a message that was looked at.
type verdict struct {
	// gone: it was deleted and is not to be given back.
	gone bool
	// enough: no other message is wanted.
	enough bool
}

// browse shows every message to visit once and gives back those that stay.
func (d *DeadLetters) browse(ctx context.Context, visit func(context.Context, Message) (verdict, error)) (err error) {
	if d.cfg.DeadLetterURL == "" {
		return fmt.Errorf("%s %w", variableDeadLetterURL, errNotConfigured)
	}

	var stay []Message

	defer func() { err = errors.Join(err, d.giveBack(ctx, stay)) }()

	seen := map[string]bool{}

	for {
		messages, err := receive(ctx, d.api, d.cfg.DeadLetterURL, MaxReceive, browseWait, browseVisibility)
		if err != nil {
			return fmt.Errorf("receiving from %w",
				explain(err, variableDeadLetterURL, d.cfg.DeadLetterURL, "sqs:ReceiveMessage"))
		}

		stay = append(stay, messages...)
		fresh, enough := false, false

		for _, m := range messages {
			if seen[m.ID] || enough {
				continue
			}

			seen[m.ID], fresh = true, true

			v, err := visit(ctx, m)
			if err != nil {
				return err
			}

			if v.gone {
				stay = slices.DeleteFunc(stay, func(other Message) bool { return other.Receipt == m.Receipt })
			}

			enough = v.enough
		}

		// Messages that come back were hidden for long enough to see the rest.
		if !fresh || enough {
			return nil
		}
	}
}

func (d *DeadLetters) giveBack(ctx context.Context, messages []Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()

	for _, m := range messages {
		err := changeVisibility(ctx, d.api, variableDeadLetterURL, d.cfg.DeadLetterURL, m, 0)
		if err != nil && !errors.Is(err, ErrReceiptLost) {
			return fmt.Errorf("giving message %s back: %w", m.ID, err)
		}
	}

	return nil
}

func newDeadLetter(m Message) DeadLetter {
	first, err := time.Parse(time.RFC3339Nano, m.Attributes[AttributeFirstReceived])
	if err != nil {
		first = m.FirstReceivedAt
	}

	return DeadLetter{
		ID:            m.ID,
		ReasonCode:    m.Attributes[AttributeReasonCode],
		Reason:        m.Attributes[AttributeReason],
		OriginalID:    m.Attributes[AttributeOriginalID],
		SentAt:        m.SentAt,
		FirstReceived: first,
		ReceiveCount:  m.ReceiveCount,
		Body:          m.Body,
	}
}
