package cloudsim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Effect is what a fault does to a request.
type Effect string

// The effects.
const (
	// EffectFail answers with Code and Message.
	EffectFail Effect = "fail"
	// EffectThrottle answers as AWS does above its request rate.
	EffectThrottle Effect = "throttle"
	// EffectDelay answers after Delay.
	EffectDelay Effect = "delay"
	// EffectHang does not answer until the fault is cleared, the caller
	// goes away or the simulator ends.
	EffectHang Effect = "hang"
	// EffectCrash does what was asked and then makes the provider plugin die
	// before it hears of it.
	EffectCrash Effect = "crash"
	// EffectDrop does what was asked and cuts the connection in place of an
	// answer.
	EffectDrop Effect = "drop"
)

// Fault is scripted trouble. Empty fields match everything.
type Fault struct {
	ID        string    `json:"id,omitempty"`
	Effect    Effect    `json:"effect"`
	Operation Operation `json:"operation,omitempty"`
	Type      string    `json:"type,omitempty"`
	Tenant    string    `json:"tenant,omitempty"`
	// Nth is the first matching request that is struck, counted from the
	// setting of the fault; 0 and 1 are the next one.
	Nth int `json:"nth,omitempty"`
	// Times is how many requests are struck from there on: 0 and 1 are one,
	// -1 is all.
	Times int `json:"times,omitempty"`
	// Code and Message are the answer of EffectFail.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// After makes EffectFail do what was asked first, EffectHang likewise.
	After bool `json:"after,omitempty"`
	// Delay is of EffectDelay.
	Delay time.Duration `json:"delay,omitempty"`

	// Seen and Struck count the matching and the struck requests.
	Seen   int `json:"seen"`
	Struck int `json:"struck"`

	cleared chan struct{}
}

var errFault = errors.New("invalid fault")

func (f *Fault) validate() error {
	switch f.Effect {
	case EffectFail:
		if f.Code == "" {
			return fmt.Errorf("%w: effect fail needs a code", errFault)
		}
	case EffectDelay:
		if f.Delay <= 0 {
			return fmt.Errorf("%w: effect delay needs a positive delay", errFault)
		}
	case EffectThrottle, EffectHang, EffectCrash, EffectDrop:
	default:
		return fmt.Errorf("%w: effect %q is not one of fail, throttle, delay, hang, crash, drop", errFault, f.Effect)
	}

	if f.Nth < 0 || f.Times < -1 {
		return fmt.Errorf("%w: nth is at least 0 and times at least -1", errFault)
	}

	return nil
}

// strikes counts a request and reports whether the fault hits it.
func (f *Fault) strikes(op Operation, typ, tenant string) bool {
	if f.Operation != "" && f.Operation != op || f.Type != "" && f.Type != typ || f.Tenant != "" && f.Tenant != tenant {
		return false
	}

	f.Seen++

	if f.Seen < max(f.Nth, 1) || f.Times >= 0 && f.Struck >= max(f.Times, 1) {
		return false
	}

	f.Struck++

	return true
}

// afterwards reports whether the fault strikes once the work is done.
func (f *Fault) afterwards() bool {
	return f.Effect == EffectCrash || f.Effect == EffectDrop || f.After
}

// refusal is the answer of effects that answer with an error.
func (f *Fault) refusal() *Error {
	switch f.Effect {
	case EffectFail:
		return &Error{Status: http.StatusBadRequest, Code: f.Code, Message: f.Message}
	case EffectThrottle:
		return &Error{Status: http.StatusServiceUnavailable, Code: codeThrottled, Message: "Request limit exceeded."}
	case EffectCrash:
		return &Error{Status: http.StatusInternalServerError, Code: CodeCrash, Message: "the script ends the provider here"}
	case EffectDelay, EffectHang, EffectDrop:
	}

	return nil
}

// script holds the faults in the order in which they were set.
type script struct {
	limit  int
	last   int
	faults []*Fault
}

func (s *script) add(f Fault) (Fault, error) {
	if err := f.validate(); err != nil {
		return Fault{}, err
	}

	if len(s.faults) >= s.limit {
		return Fault{}, fmt.Errorf("%w: there are %d already, clear some", errFault, s.limit)
	}

	s.last++
	f.ID = strconv.Itoa(s.last)
	f.Seen, f.Struck = 0, 0
	f.cleared = make(chan struct{})
	s.faults = append(s.faults, &f)

	return f, nil
}

// moment says which faults can strike a request. The creation of a resource
// with data is two requests: faults before the fact strike the first, those
// after it the second.
type moment int

const (
	anytime moment = iota
	beforeTheFact
	afterTheFact
)

func (s *script) strike(op Operation, typ, tenant string, when moment) *Fault {
	for _, f := range s.faults {
		if when == beforeTheFact && f.afterwards() || when == afterTheFact && !f.afterwards() {
			continue
		}

		if f.strikes(op, typ, tenant) {
			return f
		}
	}

	return nil
}

// clear removes the fault with the id, or all where id is empty.
func (s *script) clear(id string) {
	s.faults = slices.DeleteFunc(s.faults, func(f *Fault) bool {
		if id != "" && f.ID != id {
			return false
		}

		close(f.cleared)

		return true
	})
}

func (s *script) list() []Fault {
	list := make([]Fault, 0, len(s.faults))
	for _, f := range s.faults {
		list = append(list, *f)
	}

	return list
}
