// SPDX-License-Identifier: Apache-2.0

// Package kubeapi asks the API server of a cluster about a node, as a service account. Its methods
// can be called by several goroutines.
package kubeapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/kubelet"
	"github.com/zramfs/zramfs/cmd/zramfs/podswap"
)

// serviceAccount is the directory with the credentials of a pod.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	answerTime = 30 * time.Second // longer than an API server takes for the pods of a node
	watchTime  = 5 * time.Minute  // then a watch is begun anew
	maxAnswer  = 64 << 20         // bytes
)

// ErrForbidden means that the service account has no right to what was asked.
var ErrForbidden = errors.New("the service account may not do that: see its role")

// A Client asks one API server.
type Client struct {
	base  string // its URL
	token string // file with the token, which changes from time to time
	http  *http.Client
}

// InCluster returns the client of a pod with a service account.
func InCluster() (*Client, error) {
	name, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if name == "" || port == "" {
		return nil, errors.New("this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
	}
	return New("https://"+net.JoinHostPort(name, port), filepath.Join(serviceAccount, "token"), filepath.Join(serviceAccount, "ca.crt"))
}

// New returns a client of the API server at base, with the token in one file, and its authority's
// certificates in another.
func New(base, token, authority string) (*Client, error) {
	text, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", authority)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: answerTime, ResponseHeaderTimeout: answerTime, Proxy: http.ProxyFromEnvironment}
	return &Client{base: base, token: token, http: &http.Client{Transport: transport}}, nil
}

// get begins a request. The caller closes the body.
func (c *Client) get(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	token, err := os.ReadFile(c.token)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Accept", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	err = fmt.Errorf("GET %s: %s", path, answer.Status)
	if answer.StatusCode == http.StatusForbidden {
		err = fmt.Errorf("GET %s: %w", path, ErrForbidden)
	}
	return nil, errors.Join(err, answer.Body.Close())
}

// read returns the whole answer.
func (c *Client) read(ctx context.Context, path string, query url.Values) (text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	body, err := c.get(ctx, path, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	text, err = io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("GET %s: more than 64 MiB", path)
	}
	return text, err
}

func ofNode(node string) url.Values { return url.Values{"fieldSelector": {"spec.nodeName=" + node}} }

// Pods returns the pods of a node.
func (c *Client) Pods(ctx context.Context, node string) ([]podswap.Pod, error) {
	text, err := c.read(ctx, "/api/v1/pods", ofNode(node))
	if err != nil {
		return nil, err
	}
	return podswap.ParseList(text)
}

// WatchPods calls changed for each change of a pod of the node, until ctx or the stream ends, which
// is after some minutes. The first calls are for the pods that are there.
func (c *Client) WatchPods(ctx context.Context, node string, changed func()) (err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTime+answerTime)
	defer cancel()
	query := ofNode(node)
	query.Set("watch", "true")
	query.Set("timeoutSeconds", fmt.Sprint(int(watchTime.Seconds())))
	body, err := c.get(ctx, "/api/v1/pods", query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	events := json.NewDecoder(bufio.NewReader(body))
	for {
		var event struct{ Type string }
		if err := events.Decode(&event); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("watch the pods of %s: %w", node, err)
		}
		if event.Type == "ERROR" {
			return fmt.Errorf("watch the pods of %s: the API server ended it", node)
		}
		changed()
	}
}

// Configz returns the settings in force of the kubelet of a node. The right to it (get of
// nodes/proxy) lets a service account run commands in every pod of the node, so most have it not:
// the error is ErrForbidden then.
func (c *Client) Configz(ctx context.Context, node string) (kubelet.Settings, error) {
	text, err := c.read(ctx, "/api/v1/nodes/"+url.PathEscape(node)+"/proxy/configz", nil)
	if err != nil {
		return kubelet.Settings{}, err
	}
	return kubelet.ParseConfigz(text)
}
