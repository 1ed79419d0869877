package awsplugin

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
)

// keyData makes keys that encrypt: the state of every tenant depends on one.
// The ARN stays the simulator's, since the emulator knows one region only.
func keyData() *dataPlane {
	return &dataPlane{
		create: func(ctx context.Context, c *clients, p part) (string, map[string]any, error) {
			made, err := c.kms.CreateKey(ctx, &kms.CreateKeyInput{
				Description: aws.String(p.inputs.text("description")),
				KeyUsage:    kmstypes.KeyUsageType(p.inputs.text("keyUsage")),
				KeySpec:     kmstypes.KeySpec(p.inputs.text("customerMasterKeySpec")),
			})
			if err != nil {
				return "", nil, err //nolint:wrapcheck // explained by the caller
			}

			return *made.KeyMetadata.KeyId, nil, nil
		},
		remove: func(ctx context.Context, c *clients, p part) error {
			window := kms.ScheduleKeyDeletionInput{KeyId: &p.id}
			if days, ok := p.inputs.number("deletionWindowInDays"); ok {
				window.PendingWindowInDays = aws.Int32(int32(days)) //nolint:gosec // 7 to 30, as the simulator checked
			}

			_, err := c.kms.ScheduleKeyDeletion(ctx, &window)

			return err //nolint:wrapcheck // explained by the caller
		},
	}
}

func aliasData() *dataPlane {
	remove := func(ctx context.Context, c *clients, p part) error {
		_, err := c.kms.DeleteAlias(ctx, &kms.DeleteAliasInput{AliasName: aws.String(p.inputs.text("name"))})

		return err //nolint:wrapcheck // explained by the caller
	}
	// The emulator has no UpdateAlias, and an alias that the simulator does
	// not know is a left-over.
	point := func(ctx context.Context, c *clients, p part) error {
		if err := remove(ctx, c, p); err != nil && !absent(err) {
			return err
		}

		_, err := c.kms.CreateAlias(ctx, &kms.CreateAliasInput{
			AliasName: aws.String(p.inputs.text("name")), TargetKeyId: aws.String(p.inputs.text("targetKeyId")),
		})

		return err //nolint:wrapcheck // explained by the caller
	}

	return &dataPlane{
		create: func(ctx context.Context, c *clients, p part) (string, map[string]any, error) {
			return "", nil, point(ctx, c, p)
		},
		update: point,
		remove: remove,
	}
}
