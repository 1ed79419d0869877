package registrytest

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed reserved.txt
var reservedText string

// reservedWords are all of DynamoDB's.
var reservedWords = sync.OnceValue(func() map[string]bool { //nolint:gochecknoglobals // a compiled table
	words := map[string]bool{}
	for word := range strings.FieldsSeq(reservedText) {
		words[word] = true
	}

	return words
})

// The part of DynamoDB's expression language that means the same on AWS and on
// the emulators. Everything else is refused, also what AWS would accept: an
// emulator that does not understand an expression may ignore it silently.
var (
	tokenPattern    = regexp.MustCompile(`^(?:[A-Za-z_][A-Za-z0-9_]*|:[a-z][a-z_]*|<=|>=|<>|[=<>(),])`)
	operatorPattern = regexp.MustCompile(`^(=|<>|<|<=|>|>=)$`)
	namePattern     = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

	errExpression = errors.New("invalid expression")
)

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errExpression}, args...)...)
}

// Lex splits an expression, or a part of one, and checks its form: one line,
// single spaces, no placeholders for names, no reserved word as a name.
func Lex(expression string) ([]string, error) {
	var tokens []string

	for rest := expression; rest != ""; {
		rest = strings.TrimPrefix(rest, " ")

		token := tokenPattern.FindString(rest)
		if token == "" {
			return nil, invalidf("%q at %q", expression, rest)
		}

		if namePattern.MatchString(token) && token != exists && token != notExists && reserved(token) {
			return nil, invalidf("%q: %s is a reserved word", expression, token)
		}

		tokens = append(tokens, token)
		rest = rest[len(token):]
	}

	if written := write(tokens); written != strings.TrimPrefix(expression, " ") {
		return nil, invalidf("%q: it must be spaced as %q", expression, written)
	}

	return tokens, nil
}

func reserved(name string) bool {
	return reservedWords()[strings.ToUpper(name)]
}

// write is the one way to space tokens.
func write(tokens []string) string {
	var b strings.Builder

	for i, token := range tokens {
		glued := token == "," || token == ")" || (token == "(" && i > 0 && strings.HasPrefix(tokens[i-1], "attribute_"))
		if i > 0 && !glued && tokens[i-1] != "(" {
			b.WriteByte(' ')
		}

		b.WriteString(token)
	}

	return b.String()
}

const (
	exists    = "attribute_exists"
	notExists = "attribute_not_exists"
)

// Check judges an update expression and its condition as a whole: they parse,
// every value that is used is given, every given one is used, and no name of a
// value begins with another.
func Check(expression, condition string, values []string) error {
	_, err := compile(expression, condition, values)

	return err
}

type compiled struct {
	set       map[string]string
	remove    []string
	condition func(lookup) bool
}

// lookup finds the attribute of an item, or the value of a placeholder.
type lookup func(name string) (value any, ok bool)

func compile(expression, condition string, values []string) (compiled, error) {
	tokens, err := Lex(expression)
	if err != nil {
		return compiled{}, err
	}

	p := &parser{tokens: tokens, used: map[string]bool{}}
	c := p.update()

	if condition != "" {
		if tokens, err = Lex(condition); err != nil {
			return compiled{}, err
		}

		p.finish(expression)
		p.tokens = tokens
		c.condition = p.or()
		p.finish(condition)
	} else {
		p.finish(expression)
	}

	if p.err != nil {
		return compiled{}, p.err
	}

	return c, checkValues(slices.Sorted(maps.Keys(p.used)), values)
}

func checkValues(used, given []string) error {
	given = slices.Sorted(slices.Values(given))
	if !slices.Equal(used, given) {
		return invalidf("the values used are %v, those given are %v", used, given)
	}

	for i := 1; i < len(given); i++ {
		if strings.HasPrefix(given[i], given[i-1]) {
			return invalidf("the name of value %s begins with %s", given[i], given[i-1])
		}
	}

	return nil
}

// parser is a recursive descent; the first error stays.
type parser struct {
	tokens []string
	used   map[string]bool
	err    error
}

func (p *parser) failf(format string, args ...any) {
	if p.err == nil {
		p.err = invalidf(format, args...)
	}

	p.tokens = nil
}

func (p *parser) finish(expression string) {
	if len(p.tokens) > 0 {
		p.failf("%q: %v is left over", expression, p.tokens)
	}
}

func (p *parser) take() string {
	if len(p.tokens) == 0 {
		p.failf("it ends too early")

		return ""
	}

	token := p.tokens[0]
	p.tokens = p.tokens[1:]

	return token
}

func (p *parser) accept(token string) bool {
	if len(p.tokens) == 0 || p.tokens[0] != token {
		return false
	}

	p.tokens = p.tokens[1:]

	return true
}

func (p *parser) expect(token string) {
	if got := p.take(); got != token && p.err == nil {
		p.failf("%q where %q should be", got, token)
	}
}

func (p *parser) name() string {
	token := p.take()
	if p.err == nil && !namePattern.MatchString(token) {
		p.failf("%q is not the name of an attribute", token)
	}

	return token
}

func (p *parser) value() string {
	token := p.take()
	if p.err == nil && !strings.HasPrefix(token, ":") {
		p.failf("%q is not a value", token)
	}

	p.used[token] = true

	return token
}

// update reads one SET clause with plain values and one REMOVE clause, either
// of which may be absent. No attribute is named twice.
func (p *parser) update() compiled {
	c := compiled{set: map[string]string{}}
	named := map[string]bool{}

	target := func() string {
		name := p.name()
		if named[name] {
			p.failf("%s is written twice", name)
		}

		named[name] = true

		return name
	}

	if p.accept("SET") {
		for more := true; more; more = p.accept(",") {
			name := target()

			p.expect("=")

			c.set[name] = p.value()
		}
	}

	if p.accept("REMOVE") {
		for more := true; more; more = p.accept(",") {
			c.remove = append(c.remove, target())
		}
	}

	if len(named) == 0 {
		p.failf("it writes nothing")
	}

	return c
}

func (p *parser) or() func(lookup) bool {
	left := p.and()
	for p.accept("OR") {
		a, b := left, p.and()
		left = func(l lookup) bool { return a(l) || b(l) }
	}

	return left
}

func (p *parser) and() func(lookup) bool {
	left := p.primary()
	for p.accept("AND") {
		a, b := left, p.primary()
		left = func(l lookup) bool { return a(l) && b(l) }
	}

	return left
}

func (p *parser) primary() func(lookup) bool {
	if p.accept("(") {
		inner := p.or()
		p.expect(")")

		return inner
	}

	for _, function := range []string{exists, notExists} {
		if p.accept(function) {
			p.expect("(")
			name := p.name()
			p.expect(")")

			return func(l lookup) bool {
				_, ok := l(name)

				return ok == (function == exists)
			}
		}
	}

	name, operator, value := p.name(), p.take(), p.value()
	if p.err == nil && !operatorPattern.MatchString(operator) {
		p.failf("%q is not a comparison", operator)
	}

	return func(l lookup) bool {
		a, ok := l(name)
		b, _ := l(value)

		return ok && compare(a, operator, b)
	}
}
