// SPDX-License-Identifier: Apache-2.0

// Package kubeapi asks the API server of a cluster about a node and the pods on it, and removes a
// taint from the node, as a service account. Its methods can be called by several goroutines.
package kubeapi

import (
	"bufio"
	"bytes"
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

	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/podswap"
)

// serviceAccount is the directory with the credentials of a pod.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	answerTime = 30 * time.Second // longer than an API server takes for the pods of a node
	watchTime  = 5 * time.Minute  // then a watch is begun anew
	maxAnswer  = 64 << 20         // bytes
)

// Errors of answers.
var (
	// ErrForbidden means that the service account has no right to what was asked.
	ErrForbidden = errors.New("the service account may not do that: see its role")
	// ErrUnauthorized means that the token is not valid, as when the service account was deleted.
	ErrUnauthorized = errors.New("the API server does not know the service account")
	// ErrNotFound means that there is no such object.
	ErrNotFound = errors.New("there is no such object")
	// ErrConflict means that the object has changed since it was read.
	ErrConflict = errors.New("the object has changed")
)

// statusErrors are the errors for codes of answers.
var statusErrors = map[int]error{http.StatusForbidden: ErrForbidden, http.StatusUnauthorized: ErrUnauthorized,
	http.StatusNotFound: ErrNotFound, http.StatusConflict: ErrConflict}

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

// begin begins a request, with a body of this type unless it is nil. The caller closes the body of
// the answer.
func (c *Client) begin(ctx context.Context, method, path string, query url.Values, kind string, body []byte) (io.ReadCloser, error) {
	token, err := os.ReadFile(c.token)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Accept", "application/json")
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	err = fmt.Errorf("%s %s: %s", method, path, answer.Status)
	if known := statusErrors[answer.StatusCode]; known != nil {
		err = fmt.Errorf("%s %s: %w", method, path, known)
	}
	return nil, errors.Join(err, answer.Body.Close())
}

// do returns the whole answer.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, kind string, body []byte) (text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer, err := c.begin(ctx, method, path, query, kind, body)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	text, err = io.ReadAll(io.LimitReader(answer, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("%s %s: more than 64 MiB", method, path)
	}
	return text, err
}

func (c *Client) read(ctx context.Context, path string, query url.Values) ([]byte, error) {
	return c.do(ctx, http.MethodGet, path, query, "", nil)
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
	body, err := c.begin(ctx, http.MethodGet, "/api/v1/pods", query, "", nil)
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
