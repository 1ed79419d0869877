package programs

import (
	"errors"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// The tags of the fields of parameters. What they say is both checked and
// documented, so that the two cannot differ:
//
//	bounds    "low..high", of a number or of the length of a list
//	form      a name in forms: what a string, or each of a list, looks like
//	required  "true" refuses the empty value
const (
	tagBounds   = "bounds"
	tagForm     = "form"
	tagRequired = "required"
)

// forms are those of parameters. AWS's are from the pages beside them.
var forms = map[string]*regexp.Regexp{ //nolint:gochecknoglobals // a constant
	"schemaPrefix": regexp.MustCompile(`^[a-z_][a-z0-9_]{0,19}$`),
	// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Concepts.DBInstanceClass.Types.html
	"instanceClass": regexp.MustCompile(`^db\.[a-z0-9]+(-[a-z0-9]+)*\.[a-z0-9]+$`),
	// The major versions that RDS offers.
	// https://docs.aws.amazon.com/AmazonRDS/latest/PostgreSQLReleaseNotes/postgresql-release-calendar.html
	"engineVersion": regexp.MustCompile(`^1[3-8](\.\d{1,2})?$`),
	"databaseName":  regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`),
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
	"clusterArn":     regexp.MustCompile(arnPartition + `ecs` + arnPlace + `cluster/[A-Za-z0-9_-]{1,255}$`),
	"listenerArn":    regexp.MustCompile(arnPartition + `elasticloadbalancing` + arnPlace + `listener/app/[A-Za-z0-9/-]+$`),
	"roleArn":        regexp.MustCompile(arnPartition + `iam::\d{12}:role/[\w+=,.@/-]+$`),
	"certificateArn": regexp.MustCompile(`^(arn:aws[a-z-]*:(acm|iam):[a-z0-9-]*:\d{12}:(server-)?certificate/[\w+=,.@/-]+)?$`),
	// https://docs.aws.amazon.com/AmazonECR/latest/userguide/repository-create.html
	"repositoryArn": regexp.MustCompile(arnPartition + `ecr` + arnPlace + `repository/[a-z0-9][a-z0-9._/-]{1,255}$`),
	"service":       regexp.MustCompile(serviceForm),
	"scheme":        regexp.MustCompile(`^https?$`),
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
	"vpcId":           regexp.MustCompile(`^vpc-[0-9a-f]{8,17}$`),
	"peerVpcId":       regexp.MustCompile(`^(vpc-[0-9a-f]{8,17})?$`),
	"routeTableId":    regexp.MustCompile(`^rtb-[0-9a-f]{8,17}$`),
	"peerAccess":      regexp.MustCompile(`^(` + admitBalancer + `|` + admitDatabase + `)$`),
	"subnetId":        regexp.MustCompile(`^subnet-[0-9a-f]{8,17}$`),
	"securityGroupId": regexp.MustCompile(`^sg-[0-9a-f]{8,17}$`),
	// A host is at most 128 characters in a rule, of which 63 are the tenant's.
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
	"domain": regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$`),
	// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
	"image": regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./:@-]{0,254}$`),
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
	"path": regexp.MustCompile(`^/[[:graph:]]{0,999}$`),
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
	"attribute": regexp.MustCompile(`^[A-Za-z0-9_.-]{1,255}$`),
}

// Parts of ARNs.
const (
	arnPartition = `^arn:aws[a-z-]*:`
	arnPlace     = `:[a-z0-9-]+:\d{12}:`
)

// checkTags judges parameters, a struct, by the tags of its fields.
func checkTags(parameters any) error {
	values := reflect.ValueOf(parameters)
	if values.Kind() != reflect.Struct {
		return nil
	}

	var problems []error

	for _, field := range reflect.VisibleFields(values.Type()) {
		if name := parameterName(field); name != "" {
			problems = append(problems, checkField(name, field, values.FieldByIndex(field.Index)))
		}
	}

	return errors.Join(problems...)
}

func checkField(name string, field reflect.StructField, value reflect.Value) error {
	if field.Tag.Get(tagRequired) != "" && (value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0) {
		return problem(name, "missing; it is required")
	}

	if low, high, bounded := bounds(field); bounded {
		if err := between(name, size(value), low, high); err != nil {
			return err
		}
	}

	form, formed := forms[field.Tag.Get(tagForm)]
	if !formed {
		return nil
	}

	for _, text := range texts(value) {
		if !form.MatchString(text) {
			return problem(name, "%q must match %s", text, form)
		}
	}

	return nil
}

// size is what bounds are of: a number, or the length of a list.
func size(value reflect.Value) int {
	if value.Kind() == reflect.Slice {
		return value.Len()
	}

	return int(value.Int())
}

func bounds(field reflect.StructField) (low, high int, bounded bool) {
	first, last, bounded := strings.Cut(field.Tag.Get(tagBounds), "..")
	if !bounded {
		return 0, 0, false
	}

	low, err := strconv.Atoi(first)
	high, failed := strconv.Atoi(last)

	return low, high, err == nil && failed == nil
}

// texts are the strings of a parameter: itself, or all of a list.
func texts(value reflect.Value) []string {
	if value.Kind() != reflect.Slice {
		return []string{value.String()}
	}

	list := make([]string, 0, value.Len())
	for i := range value.Len() {
		list = append(list, value.Index(i).String())
	}

	return list
}
