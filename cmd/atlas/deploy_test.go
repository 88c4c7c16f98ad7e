package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// deployed reads a file of the folder deploy.
func deployed(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(repository, "deploy", path))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// object reads an object of deploy/kubernetes.
func object[T any](t *testing.T, path string) (o T) {
	t.Helper()
	if err := yaml.Unmarshal(deployed(t, filepath.Join("kubernetes", path)), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// workload is a Deployment or a Job.
type workload struct {
	Spec struct {
		Replicas int
		Template struct {
			Spec pod
		}
	}
}

type pod struct {
	Grace           int   `yaml:"terminationGracePeriodSeconds"`
	Token           *bool `yaml:"automountServiceAccountToken"`
	SecurityContext struct {
		RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
		SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Containers []container
}

type container struct {
	Image string
	Args  []string
	Env   []struct {
		Name      string
		ValueFrom struct {
			SecretKeyRef struct {
				Name, Key string
			} `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Resources struct{ Requests, Limits map[string]string }
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Security  struct {
		Escalation   *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities struct{ Drop []string }
	} `yaml:"securityContext"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// secretValues are the values of the cluster's secret, for the commands to accept.
var secretValues = map[string]string{
	"postgres-url": "postgres://atlas_app@db/atlas", "postgres-system-url": "postgres://atlas_system@db/atlas",
	"redis-url": "redis://redis:6379/0", "elasticsearch-api-key": "key", "cursor-keys": "0123456789abcdef",
}

// The cluster runs existing commands, with settings that they accept and secrets that the
// page names, in pods that the profile "restricted" admits. Not parallel: it sets the
// environment.
func TestKubernetes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repository, "docs/deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]string{}
	for line := range strings.Lines(string(deployed(t, "kubernetes/base/atlas.env"))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		plain[name] = value
	}
	for _, path := range []string{"deployment.yaml", "migrate.yaml"} {
		pod := object[workload](t, "base/"+path).Spec.Template.Spec
		if s := pod.SecurityContext; !s.RunAsNonRoot || s.SeccompProfile.Type != "RuntimeDefault" || pod.Token == nil || *pod.Token {
			t.Errorf("%s: the pod is not restricted: %+v", path, pod)
		}
		for _, c := range pod.Containers {
			if s := c.Security; s.Escalation == nil || *s.Escalation || !s.ReadOnly || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
				t.Errorf("%s: the container is not restricted: %+v", path, s)
			}
			if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
				t.Errorf("%s: resources %+v", path, c.Resources)
			}
			environment := map[string]string{}
			if path == "deployment.yaml" {
				maps.Copy(environment, plain)
			}
			for _, e := range c.Env {
				if e.Name == "GOMEMLIMIT" {
					continue
				}
				key := e.ValueFrom.SecretKeyRef.Key
				environment[e.Name] = secretValues[key]
				if secretValues[key] == "" || !strings.Contains(string(page), "--from-literal="+key+"=") {
					t.Errorf("%s: docs/deploy.md does not create the secret %q", path, key)
				}
			}
			accepts(t, path, environment, c.Args...)
		}
	}
	server := object[workload](t, "base/deployment.yaml").Spec
	if server.Replicas != 2 {
		t.Errorf("%d servers", server.Replicas)
	}
	c := server.Template.Spec.Containers[0]
	if c.Liveness.HTTPGet.Path != "/health/live" || c.Readiness.HTTPGet.Path != "/health/ready" || c.Readiness.HTTPGet.Port != "http" {
		t.Errorf("probes %+v, %+v", c.Liveness, c.Readiness)
	}
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.Port
	}
	listen := regexp.MustCompile(`ATLAS_LISTEN=\S*:(\d+)`).FindStringSubmatch(dockerfile(t))
	_, metrics, _ := strings.Cut(plain["ATLAS_METRICS_LISTEN"], ":")
	if listen == nil || listen[1] != strconv.Itoa(ports["http"]) || metrics != strconv.Itoa(ports["metrics"]) {
		t.Errorf("the server listens on %v and %s, the pod has the ports %v", listen, metrics, ports)
	}
}

// The time to stop is longer than a server may take.
func TestStopsInTime(t *testing.T) {
	t.Parallel()
	var drain time.Duration
	for _, n := range parserOf(t).Model.Leaves(false) {
		for _, f := range n.Flags {
			if n.Name == "serve" && f.Name == "drain" {
				drain, _ = time.ParseDuration(f.Default)
			}
		}
	}
	unit := regexp.MustCompile(`(?m)^TimeoutStopSec=(.*)$`).FindSubmatch(deployed(t, "systemd/atlas.service"))
	for where, grace := range map[string]string{
		"systemd":    string(unit[1]),
		"compose":    composeServices(t)["atlas"].Grace,
		"Kubernetes": strconv.Itoa(object[workload](t, "base/deployment.yaml").Spec.Template.Spec.Grace) + "s",
	} {
		if d, err := time.ParseDuration(grace); err != nil || drain == 0 || d < drain+5*time.Second {
			t.Errorf("%s kills a server after %s, which may take %s", where, grace, drain)
		}
	}
}

// The settings of the systemd unit are accepted with a key of one's own, and not with the
// published one. Not parallel: see accepts.
func TestSystemdSettings(t *testing.T) {
	path, err := filepath.Abs(filepath.Join(repository, "deploy/systemd/atlas.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got := atlasWith(t, nil, "serve", "--config", path); got.status != 2 ||
		!strings.Contains(got.err, "atlas serve: --cursor-keys (ATLAS_CURSOR_KEYS): a key that begins with CHANGE") {
		t.Errorf("as it is: %+v", got)
	}
	accepts(t, path, map[string]string{"ATLAS_CURSOR_KEYS": "0123456789abcdef"}, "serve", "--config", path)
	accepts(t, path, nil, "migrate", "--config", path)
}

// The services of compose listen on this machine only, have limits, and no unneeded rights.
func TestComposeDefaults(t *testing.T) {
	t.Parallel()
	for name, s := range composeServices(t) {
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s is published at %s", name, p)
			}
		}
		if len(s.Ports) > 0 && len(s.Healthcheck.Test) == 0 {
			t.Errorf("%s has no health check", name)
		}
		if s.MemLimit == "" || s.Logging.Options["max-size"] == "" {
			t.Errorf("%s: memory %q, log %v", name, s.MemLimit, s.Logging.Options)
		}
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || !slices.Contains(s.CapDrop, "ALL") {
			t.Errorf("%s has the rights %v, %v", name, s.SecurityOpt, s.CapDrop)
		}
		if s.Image == "atlas" && !s.ReadOnly {
			t.Errorf("%s can write to its image", name)
		}
	}
}
