// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a Kubernetes API server with etcd on this machine, for tests: objects are
// kept, checked and authorised as in a cluster, and nothing acts on them: a test plays controllers,
// scheduler and kubelet.
package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// adminToken is that of a user with all rights.
const adminToken = "admin-of-the-test"

// startTime bounds the start of the API server.
const startTime = 2 * time.Minute

// A Cluster is an API server that runs. Its methods can be called by several goroutines.
type Cluster struct {
	URL       string
	Authority string // file with the certificate of its authority
	Dir       string // of its files and logs
	programs  []*exec.Cmd
	http      *http.Client
}

// Start starts etcd from PATH and kube-apiserver from the directory bin. The caller calls Stop.
func Start(bin, dir string) (*Cluster, error) {
	c := &Cluster{Dir: dir, Authority: filepath.Join(dir, "apiserver.crt")}
	key := filepath.Join(dir, "accounts.key")
	err := errors.Join(writeKey(key), os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(adminToken+`,admin,admin,"system:masters"`+"\n"), 0o600))
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	etcd, peer := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	c.URL = "https://127.0.0.1:" + ports[2]
	if err := c.Run("etcd", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer, "--unsafe-no-fsync"); err != nil {
		return nil, err
	}
	err = c.Run(filepath.Join(bin, "kube-apiserver"), "--etcd-servers="+etcd, "--secure-port="+ports[2], "--bind-address=127.0.0.1", "--cert-dir="+dir,
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key, "--service-account-issuer=https://kubernetes.default.svc",
		"--token-auth-file="+filepath.Join(dir, "tokens.csv"), "--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none", "--allow-privileged=true", "--enable-priority-and-fairness=false")
	if err == nil {
		err = c.await()
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Run starts a program of the cluster, which logs to a file in Dir.
func (c *Cluster) Run(program string, args ...string) error {
	log, err := os.Create(filepath.Join(c.Dir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the program has its own
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.programs = append(c.programs, cmd)
	return nil
}

// Stop ends all programs, the last one first.
func (c *Cluster) Stop() (err error) {
	for i := len(c.programs) - 1; i >= 0; i-- {
		if e := c.programs[i].Process.Kill(); !errors.Is(e, os.ErrProcessDone) {
			err = errors.Join(err, e)
		}
		_ = c.programs[i].Wait() // was killed
	}
	return err
}

// await waits until the API server is ready and has made its own objects.
func (c *Cluster) await() error {
	var last error
	for end := time.Now().Add(startTime); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if c.http == nil {
			text, err := os.ReadFile(c.Authority)
			roots := x509.NewCertPool()
			if err != nil || !roots.AppendCertsFromPEM(text) {
				continue
			}
			c.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
		}
		if _, last = c.Do(http.MethodGet, "/readyz", "", nil); last == nil {
			if _, last = c.Do(http.MethodGet, "/api/v1/namespaces/kube-system", "", nil); last == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("the API server is not ready after %v: %w; its log is in %s", startTime, last, c.Dir)
}

// A Refused is an answer that is no success.
type Refused struct {
	Code int
	Text string
}

// Error has the code and the answer.
func (r *Refused) Error() string { return fmt.Sprintf("%d: %s", r.Code, r.Text) }

// Do sends a request of the administrator, with a body of this type.
func (c *Cluster) Do(method, path, kind string, body []byte) ([]byte, error) {
	return c.DoAs(adminToken, method, path, kind, body)
}

// DoAs sends a request with the token of a user. The error for an answer that is no success is a
// *Refused.
func (c *Cluster) DoAs(token, method, path, kind string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = &Refused{Code: answer.StatusCode, Text: string(text)}
	}
	return text, err
}

// Documents writes the documents of OpenAPI 3 of groups of the API, as apis/apps/v1, to Dir, and
// returns their paths.
func (c *Cluster) Documents(groups ...string) (paths []string, err error) {
	for i, group := range groups {
		text, err := c.Do(http.MethodGet, "/openapi/v3/"+group, "", nil)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(c.Dir, fmt.Sprintf("openapi-%d.json", i))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Token returns a token of a service account, bound to a pod as the kubelet asks for it, or to none
// where pod is empty.
func (c *Cluster) Token(namespace, account, pod, uid string) (string, error) {
	body := `{"spec":{}}`
	if pod != "" {
		body = fmt.Sprintf(`{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":%q,"uid":%q}}}`, pod, uid)
	}
	text, err := c.Do(http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token", "application/json", []byte(body))
	if err != nil {
		return "", err
	}
	var answer struct{ Status struct{ Token string } }
	err = json.Unmarshal(text, &answer)
	return answer.Status.Token, err
}

func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600)
}

// freePorts returns ports that nothing listens on.
func freePorts(n int) (ports []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // held until all are chosen
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}
