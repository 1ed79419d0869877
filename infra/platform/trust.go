package platform

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// trust lets one service account of the cluster take a role, in each of the ways
// that the cluster has.
func (c Cluster) trust(who ServiceAccount) pulumi.StringOutput {
	var statements []Statement

	if c.OIDCProviderARN != "" {
		statements = append(statements, c.federated(who))
	}

	if c.PodIdentity {
		statements = append(statements, c.podIdentity(who))
	}

	return document(statements...)
}

// federated is the trust of IAM roles for service accounts.
// https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
func (c Cluster) federated(who ServiceAccount) Statement {
	_, issuer, _ := strings.Cut(c.OIDCProviderARN, ":oidc-provider/")

	return Statement{
		ID:        "ServiceAccount",
		Principal: pulumi.StringMap{"Federated": pulumi.String(c.OIDCProviderARN)},
		Actions:   []string{"sts:AssumeRoleWithWebIdentity"},
		Condition: pulumi.Map{"StringEquals": pulumi.StringMap{
			issuer + ":aud": pulumi.String("sts.amazonaws.com"),
			issuer + ":sub": pulumi.String("system:serviceaccount:" + who.Namespace + ":" + who.Name),
		}},
	}
}

// podIdentity is the trust of EKS Pod Identity, which tags its sessions with where
// the pod is.
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html
func (c Cluster) podIdentity(who ServiceAccount) Statement {
	tags := pulumi.StringMap{
		"aws:RequestTag/kubernetes-namespace":       pulumi.String(who.Namespace),
		"aws:RequestTag/kubernetes-service-account": pulumi.String(who.Name),
	}
	if c.ARN != "" {
		tags["aws:RequestTag/eks-cluster-arn"] = pulumi.String(c.ARN)
	}

	return Statement{
		ID:        "PodIdentity",
		Principal: pulumi.StringMap{"Service": pulumi.String("pods.eks.amazonaws.com")},
		Actions:   []string{"sts:AssumeRole", "sts:TagSession"},
		Condition: pulumi.Map{"StringEquals": tags},
	}
}
