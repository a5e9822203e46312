// Package fleet checks the files for a fleet of servers with the code of the programs that read
// them: the API server of Kubernetes, docker compose, systemd and HAProxy.
package fleet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	validapps "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	validcore "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	validpolicy "k8s.io/kubernetes/pkg/apis/policy/validation"
	security "k8s.io/pod-security-admission/api"
	secure "k8s.io/pod-security-admission/policy"
)

// strict decodes objects as the API server does for kubectl: an unknown or duplicate key is an
// error.
var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

// objects has the Kubernetes objects of a manifest.
type objects struct {
	deployments []*apps.Deployment
	services    []*core.Service
	budgets     []*policy.PodDisruptionBudget
}

// kubernetes returns an error for a manifest that the API server or the restricted pod security
// standard refuses. It also returns an error if the objects do not fit each other.
func kubernetes(manifest string) error {
	var found objects
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = found.add(document)
		}
		if err != nil {
			return err
		}
	}
	return found.fit()
}

// add decodes an object, sets the defaults, and validates the object as the API server does.
func (o *objects) add(document []byte) error {
	given, _, err := strict.UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		return err
	}
	// Decode to the internal version, which has the defaults.
	internal, err := runtime.Decode(strict.UniversalDecoder(apps.SchemeGroupVersion, core.SchemeGroupVersion, policy.SchemeGroupVersion), document)
	if err != nil {
		return err
	}
	switch object := internal.(type) {
	case *apps.Deployment:
		object.Namespace = "default"
		o.deployments = append(o.deployments, object)
		before := object.DeepCopy()
		pod.DropDisabledTemplateFields(&object.Spec.Template, nil)
		if !equality.Semantic.DeepEqual(before.Spec, object.Spec) {
			return errors.New("the API server drops fields of a feature that is off")
		}
		if errs := validapps.ValidateDeployment(object, pod.GetValidationOptionsFromPodTemplate(&object.Spec.Template, nil)); len(errs) > 0 {
			return errs.ToAggregate()
		}
		template := given.(*appsv1.Deployment).Spec.Template
		evaluator, err := secure.NewEvaluator(secure.DefaultChecks(), nil)
		if err != nil {
			return err
		}
		restricted := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
		if result := secure.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)); !result.Allowed {
			return errors.New("the restricted standard: " + result.ForbiddenDetail())
		}
	case *core.Service:
		object.Namespace = "default"
		o.services = append(o.services, object)
		return validcore.ValidateServiceCreate(object).ToAggregate()
	case *policy.PodDisruptionBudget:
		o.budgets = append(o.budgets, object)
		return validpolicy.ValidatePodDisruptionBudget(object, validpolicy.PodDisruptionBudgetValidationOptions{}).ToAggregate()
	default:
		return fmt.Errorf("the test knows no %T", object)
	}
	return nil
}

// fit returns an error if objects that are valid alone do not fit each other. Examples are a
// selector that matches no pods, a port without a name, a disruption budget that allows no or every
// pod to end, and a probe of another path.
func (o *objects) fit() error {
	if len(o.deployments) != 1 || len(o.services) != 1 {
		return fmt.Errorf("%d deployments and %d services", len(o.deployments), len(o.services))
	}
	deployment, service := o.deployments[0], o.services[0]
	template := deployment.Spec.Template
	podLabels := labels.Set(template.Labels)
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(podLabels) {
		return errors.New("the service selects other pods")
	}
	container := template.Spec.Containers[0]
	names := map[string]bool{}
	for _, port := range container.Ports {
		names[port.Name] = true
	}
	for path, probe := range map[string]*core.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || !names[probe.HTTPGet.Port.String()] {
			return errors.New("no probe of " + path + " at a port of the container")
		}
	}
	for _, port := range service.Spec.Ports {
		if !names[port.TargetPort.String()] {
			return errors.New("the service sends to a port that the container does not have: " + port.TargetPort.String())
		}
	}
	grace := int64(10) // the seconds that knack needs itself
	if container.Lifecycle != nil && container.Lifecycle.PreStop != nil {
		grace += container.Lifecycle.PreStop.Sleep.Seconds
	}
	if *template.Spec.TerminationGracePeriodSeconds <= grace {
		return fmt.Errorf("a pod is killed after %d s, and needs %d", *template.Spec.TerminationGracePeriodSeconds, grace)
	}
	if deployment.Spec.Replicas == 1 {
		return nil
	}
	if len(o.budgets) != 1 {
		return fmt.Errorf("%d disruption budgets", len(o.budgets))
	}
	budget := o.budgets[0].Spec
	if selector, err := metav1.LabelSelectorAsSelector(budget.Selector); err != nil || !selector.Matches(podLabels) {
		return fmt.Errorf("the disruption budget selects other pods: %w", err)
	}
	most := budget.MaxUnavailable
	if most == nil || most.Type != intstr.Int || most.IntVal < 1 || most.IntVal >= deployment.Spec.Replicas {
		return errors.New("the disruption budget lets no pod end, or all")
	}
	for _, spread := range template.Spec.TopologySpreadConstraints {
		if selector, err := metav1.LabelSelectorAsSelector(spread.LabelSelector); err != nil || !selector.Matches(podLabels) {
			return fmt.Errorf("the pods are spread by the labels of others: %w", err)
		}
	}
	return nil
}

// read returns the text of a file for operators.
func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// broken is a mistake in a file.
type broken struct {
	from, to string // the mistake replaces from with to
	says     string // a part of the expected error
}

// judged checks that a validator accepts a file, and rejects it with each of the mistakes.
func judged(t *testing.T, text string, validator func(string) error, mistakes []broken) {
	t.Helper()
	if err := validator(text); err != nil {
		t.Errorf("as it is: %v", err)
	}
	for _, b := range mistakes {
		if !strings.Contains(text, b.from) {
			t.Errorf("there is no %q", b.from)
			continue
		}
		err := validator(strings.Replace(text, b.from, b.to, 1))
		if err == nil || !strings.Contains(err.Error(), b.says) {
			t.Errorf("%q in place of %q: %v, want %q", b.to, b.from, err, b.says)
		}
	}
}

func TestKubernetes(t *testing.T) {
	common := []broken{
		{"replicas: ", "replcas: ", `unknown field "spec.replcas"`},
		{"  name: knack\n", "  name: knack\n  name: knack\n", "already"},
		{"apps/v1", "apps/v2", "no kind"},
		{"kind: Service", "kind: Servce", "no kind"},
		{"matchLabels: {app.kubernetes.io/name: knack}", "matchLabels: {app.kubernetes.io/name: other}", "spec.template.metadata.labels"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "allowPrivilegeEscalation"},
		{"{drop: [ALL]}", "{drop: [ALL], add: [SYS_ADMIN]}", "SYS_ADMIN"},
		{"{name: settings, mountPath", "{name: setings, mountPath", "spec.containers[0].volumeMounts[0].name"},
		{"memory: 128Mi", "memory: 512Mi", "must be less than or equal to memory limit"},
		{"containerPort: 8080", "containerPort: 80800", "between 1 and 65535"},
		{"path: /readyz, port: http", "path: /readyz, port: htp", "no probe of /readyz"},
		{"path: /healthz", "path: /health", "no probe of /healthz"},
		{"targetPort: http", "targetPort: https", "does not have: https"},
		{"selector: {app.kubernetes.io/name: knack}", "selector: {app.kubernetes.io/name: other}", "selects other pods"},
		{"terminationGracePeriodSeconds: ", "terminationGracePeriodSeconds: 8 # ", "is killed after 8 s"},
	}
	several := []broken{
		{"maxSurge: 1", "maxSurge: 0", "may not be 0 when `maxSurge` is 0"},
		{"  maxUnavailable: 1\n", "  maxUnavailable: 1\n  minAvailable: 1\n", "cannot be both set"},
		{"  maxUnavailable: 1\n", "  maxUnavailable: 3\n", "lets no pod end, or all"},
		{"  maxUnavailable: 1\n  selector:\n    matchLabels: {app.kubernetes.io/name: knack}", "  maxUnavailable: 1\n  selector:\n    matchLabels: {app.kubernetes.io/name: other}", "budget selects other pods"},
		{"kind: PodDisruptionBudget", "kind: PodDistributionBudget", "no kind"},
		{"sleep: {seconds: 5}", "sleep: {seconds: 55}", "terminationGracePeriodSeconds"},
	}
	files := map[string][]broken{
		"../kubernetes.yaml": common,
		"kubernetes.yaml": append(append(common, several...),
			broken{"sizeLimit: 2Gi", "sizeLimit: 2GB", "quantities"},
			broken{"path: config.json", "path: ../config.json", "must not contain '..'"},
		),
		"kubernetes-volume.yaml": append(append(common, several...),
			broken{"IfNotPresent", "Sometimes", "pullPolicy"},
			broken{"reference: registry", "refernce: registry", "unknown field"},
		),
	}
	for file, mistakes := range files {
		t.Run(file, func(t *testing.T) { judged(t, read(t, file), kubernetes, mistakes) })
	}
}
