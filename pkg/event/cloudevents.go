package event

import (
	"encoding/json"
	"maps"
	"strconv"
)

// envelope is one way in which a message may be wrapped.
type envelope interface {
	// matches tells by its shape whether a message is wrapped so.
	matches(message map[string]any) bool
	// open takes the content out.
	open(message map[string]any) (content, error)
}

// content is what every envelope carries in its own way. Its attributes are
// not judged yet.
type content struct {
	id, source, kind, subject, time string
	data                            map[string]any
	extensions                      map[string]string
}

// cloudEvents opens CloudEvents 1.0 in structured mode.
type cloudEvents struct{ schemas schemas }

func (cloudEvents) matches(message map[string]any) bool {
	_, ok := message["specversion"]

	return ok
}

func (c cloudEvents) open(message map[string]any) (content, error) {
	// An attribute that is null is one that is not there:
	// https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md#21-handling-of-attributes
	attributes := maps.Clone(message)
	maps.DeleteFunc(attributes, func(_ string, v any) bool { return v == nil })

	if err := c.schemas.check(envelopeSchema, attributes, ""); err != nil {
		return content{}, err
	}

	out := content{
		id: text(attributes["id"]), source: text(attributes["source"]), kind: text(attributes["type"]),
		subject: text(attributes["subject"]), time: text(attributes["time"]), data: map[string]any{},
	}

	if data, ok := attributes["data"].(map[string]any); ok {
		out.data = data
	}

	for name, value := range attributes {
		if _, standard := c.schemas.byName[envelopeSchema].Properties[name]; standard {
			continue
		}

		if out.extensions == nil {
			out.extensions = map[string]string{}
		}

		out.extensions[name] = text(value)
	}

	return out, nil
}

// text is how CloudEvents writes a scalar as a string.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	default:
		return ""
	}
}
