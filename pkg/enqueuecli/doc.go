// Package enqueuecli is the command line of engineers: it sends tenant events
// to the queue, shows what the fleet made of them, and stops and restarts
// work. It decides nothing about infrastructure: it writes messages and reads
// rows, and the workers do the rest.
//
// Data goes to standard output, talk to standard error. Every failure ends in
// one of the documented exit codes, with a line that says what to do about it.
package enqueuecli
