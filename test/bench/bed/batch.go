package bed

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// errUnsent tells of messages that the queue did not take.
var errUnsent = errors.New("the queue did not take all messages")

// SendAll sends many events with as few requests as can be.
func (f *Fleet) SendAll(ctx context.Context, bodies [][]byte) error {
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
	const most = 10

	client := sqs.NewFromConfig(f.bed.AWS())

	for len(bodies) > 0 {
		n := min(most, len(bodies))
		entries := make([]types.SendMessageBatchRequestEntry, n)

		for i, body := range bodies[:n] {
			entries[i] = types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(string(body))}
		}

		out, err := client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: aws.String(f.QueueURL), Entries: entries})
		if err != nil {
			return fmt.Errorf("sending events: %w", err)
		}

		if len(out.Failed) > 0 {
			return fmt.Errorf("sending events: %w: %s", errUnsent, aws.ToString(out.Failed[0].Message))
		}

		bodies = bodies[n:]
	}

	return nil
}
