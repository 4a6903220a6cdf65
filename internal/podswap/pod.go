// SPDX-License-Identifier: Apache-2.0

package podswap

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Pod is what counts here of a pod (core/v1).
type Pod struct {
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		UID         string            `json:"uid"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Priority       *int32      `json:"priority"`
		Containers     []Container `json:"containers"`
		InitContainers []Container `json:"initContainers"`
	} `json:"spec"`
	Status struct {
		QOSClass   string            `json:"qosClass"`
		Containers []ContainerStatus `json:"containerStatuses"`
		Init       []ContainerStatus `json:"initContainerStatuses"`
	} `json:"status"`
}

// A Container is a container of a pod's spec.
type Container struct {
	Name      string `json:"name"`
	Resources struct {
		Requests Resources `json:"requests"`
		Limits   Resources `json:"limits"`
	} `json:"resources"`
}

// Resources are amounts; a nil one is not there.
type Resources struct {
	Memory *Quantity `json:"memory"`
}

// A ContainerStatus is a container of a pod's status.
type ContainerStatus struct {
	Name        string `json:"name"`
	ContainerID string `json:"containerID"` // as containerd://id; empty before it starts
}

// ParseList reads a list of pods as the API server answers it, or kubectl get pods -o json.
func ParseList(text []byte) ([]Pod, error) {
	var list struct {
		Kind  string
		Items *[]Pod
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read the list of pods: %w", err)
	}
	if list.Items == nil || list.Kind != "PodList" && list.Kind != "List" {
		return nil, fmt.Errorf("read the list of pods: kind %q is none", list.Kind)
	}
	return *list.Items, nil
}

// Annotations that the kubelet gives the pods of its own sources.
const (
	annotationSource = "kubernetes.io/config.source"
	annotationMirror = "kubernetes.io/config.mirror"
)

// criticalPriority is the least priority of a critical pod.
const criticalPriority = 2_000_000_000

// Critical reports whether the kubelet counts the pod as critical: static, mirrored, or by
// priority.
func (p Pod) Critical() bool {
	source, given := p.Metadata.Annotations[annotationSource]
	_, mirror := p.Metadata.Annotations[annotationMirror]
	return given && source != "api" || mirror || p.Spec.Priority != nil && *p.Spec.Priority >= criticalPriority
}

// A Running is a container that has been started.
type Running struct {
	Pod       *Pod
	Container Container
	ID        string // as in the name of its control group
}

// Title names the container in messages.
func (r Running) Title() string {
	return fmt.Sprintf("%s/%s %s", r.Pod.Metadata.Namespace, r.Pod.Metadata.Name, r.Container.Name)
}

// RunningIn returns the containers of pods that have been started.
func RunningIn(pods []Pod) (all []Running) {
	for i := range pods {
		p := &pods[i]
		add := func(containers []Container, statuses []ContainerStatus) {
			for _, s := range statuses {
				_, id, ok := strings.Cut(s.ContainerID, "://")
				for _, c := range containers {
					if ok && c.Name == s.Name {
						all = append(all, Running{Pod: p, Container: c, ID: id})
					}
				}
			}
		}
		add(p.Spec.Containers, p.Status.Containers)
		add(p.Spec.InitContainers, p.Status.Init)
	}
	return all
}
