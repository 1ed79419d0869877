package queue

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Message is a message that was received and is hidden from others for a while.
type Message struct {
	ID string
	// Receipt is the right to extend or delete this delivery. A later delivery
	// of the same message has another one.
	Receipt string
	Body    []byte
	// ReceiveCount is how often SQS has handed the message out, this time
	// included.
	ReceiveCount int
	SentAt       time.Time
	// FirstReceivedAt is when SQS handed it out for the first time.
	FirstReceivedAt time.Time
	ReceivedAt      time.Time
	// Attributes are the sender's attributes that are text.
	Attributes map[string]string

	// sent are all attributes as they were sent, for a copy that loses nothing.
	sent map[string]types.MessageAttributeValue
}

// systemAttributes are asked for by name: SQS returns none that is not.
func systemAttributes() []types.MessageSystemAttributeName {
	return []types.MessageSystemAttributeName{
		types.MessageSystemAttributeNameApproximateReceiveCount,
		types.MessageSystemAttributeNameSentTimestamp,
		types.MessageSystemAttributeNameApproximateFirstReceiveTimestamp,
	}
}

// allAttributes asks for every attribute of the sender.
const allAttributes = "All"

func newMessage(m types.Message, now time.Time) Message {
	text := make(map[string]string, len(m.MessageAttributes))

	for name, value := range m.MessageAttributes {
		if value.StringValue != nil {
			text[name] = *value.StringValue
		}
	}

	return Message{
		ID:              aws.ToString(m.MessageId),
		Receipt:         aws.ToString(m.ReceiptHandle),
		Body:            []byte(aws.ToString(m.Body)),
		ReceiveCount:    int(number(m, types.MessageSystemAttributeNameApproximateReceiveCount)),
		SentAt:          instant(m, types.MessageSystemAttributeNameSentTimestamp),
		FirstReceivedAt: instant(m, types.MessageSystemAttributeNameApproximateFirstReceiveTimestamp),
		ReceivedAt:      now,
		Attributes:      text,
		sent:            m.MessageAttributes,
	}
}

func number(m types.Message, name types.MessageSystemAttributeName) int64 {
	n, err := strconv.ParseInt(m.Attributes[string(name)], 10, 64)
	if err != nil {
		return 0
	}

	return n
}

func instant(m types.Message, name types.MessageSystemAttributeName) time.Time {
	if ms := number(m, name); ms > 0 {
		return time.UnixMilli(ms).UTC()
	}

	return time.Time{}
}
