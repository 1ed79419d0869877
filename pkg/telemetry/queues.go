package telemetry

import "time"

// The queues whose messages are counted, as a label.
const (
	QueueEvents      = "events"
	QueueDeadLetters = "dead_letters"
)

// addQueues makes the metrics of what waits in the queues. Counts have no series
// before the first look, because a zero would be a claim.
func (m *Metrics) addQueues() {
	m.QueueMessages = gauges("queue_messages",
		"Messages in a queue, by SQS's approximate counts. Every worker shows the same.", "queue", "state")
	m.BacklogAge = gauges("backlog_age_seconds",
		"For how long the oldest message that nobody has received waits, at most; 0 if none does. The least of all workers is the closest.")
	m.QueueCounts = counters("queue_counts_total",
		"Looks at how many messages a queue has.", "queue", "outcome")

	for _, queue := range []string{QueueEvents, QueueDeadLetters} {
		m.QueueCounts.WithLabelValues(queue, "ok")
		m.QueueCounts.WithLabelValues(queue, "error")
	}
}

// QueueCounted notes what a look at a queue found.
func (m *Metrics) QueueCounted(queue string, visible, inFlight, delayed int) {
	m.QueueCounts.WithLabelValues(queue, "ok").Inc()
	m.QueueMessages.WithLabelValues(queue, "visible").Set(float64(visible))
	m.QueueMessages.WithLabelValues(queue, "in_flight").Set(float64(inFlight))
	m.QueueMessages.WithLabelValues(queue, "delayed").Set(float64(delayed))
}

// QueueUncounted notes that a look at a queue failed. What was known of it is
// shown no more.
func (m *Metrics) QueueUncounted(queue string) {
	m.QueueCounts.WithLabelValues(queue, "error").Inc()

	for _, state := range []string{"visible", "in_flight", "delayed"} {
		m.QueueMessages.DeleteLabelValues(queue, state)
	}

	if queue == QueueEvents {
		m.BacklogAge.Reset()
	}
}

// BacklogAged notes the age of the backlog.
func (m *Metrics) BacklogAged(age time.Duration) { m.BacklogAge.WithLabelValues().Set(age.Seconds()) }

// ForgetQueues ends what is shown of the queues, for a worker that looks no
// more.
func (m *Metrics) ForgetQueues() {
	m.QueueMessages.Reset()
	m.BacklogAge.Reset()
}
