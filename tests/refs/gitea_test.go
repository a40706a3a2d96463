// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package refs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/isometry/wavefront-controller/internal/refs/fault"
	"github.com/isometry/wavefront-controller/internal/refs/gittest"
)

const (
	owner    = "owner"
	password = "correct-horse-battery"
)

// gitea is a complete forge on loopback.
type gitea struct {
	t            *testing.T
	program, dir string
	url, ssh     string
}

// freePort is one that nobody listens on now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// startGitea sets one up with one user, and waits until it answers.
func startGitea(t *testing.T) *gitea {
	t.Helper()
	program, err := filepath.Abs("../../bin/gitea")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(program)
	need(t, err == nil, "bin/gitea", "make gitea")
	find := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "code.gitea.io/gitea")
	find.Dir = "../../hack/programs/gitea"
	module, err := find.Output()
	if err != nil {
		t.Fatalf("failed to find Gitea's templates: %v", err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	web, sshPort := freePort(t), freePort(t)
	g := &gitea{t: t, program: program, dir: t.TempDir(), url: "http://127.0.0.1:" + web, ssh: "127.0.0.1:" + sshPort}
	config := fmt.Sprintf(`RUN_MODE = prod
RUN_USER = %[1]s
WORK_PATH = %[2]s
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]s
ROOT_URL = %[4]s/
STATIC_ROOT_PATH = %[5]s
APP_DATA_PATH = %[2]s/data
OFFLINE_MODE = true
START_SSH_SERVER = true
SSH_LISTEN_HOST = 127.0.0.1
SSH_LISTEN_PORT = %[6]s
BUILTIN_SSH_SERVER_USER = git
[database]
DB_TYPE = sqlite3
PATH = %[2]s/gitea.db
[repository]
ROOT = %[2]s/repos
[security]
INSTALL_LOCK = true
PASSWORD_HASH_ALGO = pbkdf2_v1
[log]
MODE = file
LEVEL = Warn
ROOT_PATH = %[2]s/log
`, me.Username, g.dir, web, g.url, strings.TrimSpace(string(module)), sshPort)
	if err := os.WriteFile(filepath.Join(g.dir, "app.ini"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g.run("migrate")
	g.run("admin", "user", "create", "--username", owner, "--password", password,
		"--email", "owner@localhost", "--admin", "--must-change-password=false")
	server := g.command("web")
	var output bytes.Buffer
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Log(output.String())
		}
	})
	NewWithT(t).Eventually(func() error {
		response, err := http.Get(g.url + "/api/healthz")
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	}, "120s", "200ms").Should(Succeed(), "Gitea did not start")
	return g
}

func (g *gitea) command(args ...string) *exec.Cmd {
	cmd := exec.Command(g.program, append(args, "--config", filepath.Join(g.dir, "app.ini"))...)
	cmd.Dir = g.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "USER=" + os.Getenv("USER"),
		"GITEA_WORK_DIR=" + g.dir, "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT=true",
	}
	return cmd
}

// run runs a command of the program and returns what it printed.
func (g *gitea) run(args ...string) string {
	g.t.Helper()
	cmd := g.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("failed to run gitea %s: %v: %s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// api calls the REST API as the owner.
func (g *gitea) api(method, path string, body, into any) {
	g.t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		g.t.Fatal(err)
	}
	request, err := http.NewRequest(method, g.url+"/api/v1"+path, bytes.NewReader(content))
	if err != nil {
		g.t.Fatal(err)
	}
	request.SetBasicAuth(owner, password)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 300 {
		g.t.Fatalf("failed to call %s %s: status %d", method, path, response.StatusCode)
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		g.t.Fatal(err)
	}
}

// repository makes one and returns its first commit.
func (g *gitea) repository(name string, private bool) string {
	g.t.Helper()
	g.api(http.MethodPost, "/user/repos", map[string]any{
		"name": name, "private": private, "auto_init": true, "default_branch": "main",
	}, nil)
	var branch struct {
		Commit struct {
			ID string `json:"id"`
		} `json:"commit"`
	}
	g.api(http.MethodGet, "/repos/"+owner+"/"+name+"/branches/main", nil, &branch)
	return branch.Commit.ID
}

// hostKey asks the SSH server for its key.
func (g *gitea) hostKey() ssh.PublicKey {
	g.t.Helper()
	var found ssh.PublicKey
	_, _ = ssh.Dial("tcp", g.ssh, &ssh.ClientConfig{
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error { found = key; return nil },
	})
	if found == nil {
		g.t.Fatal("failed to read Gitea's host key")
	}
	return found
}

func TestGitea(t *testing.T) {
	forge := startGitea(t)
	public, private := forge.repository("public", false), forge.repository("private", true)
	forge.repository("other", true)
	// What it logs may come first.
	printed := strings.Fields(forge.run("admin", "user", "generate-access-token", "--username", owner, "--token-name", "test",
		"--scopes", "read:repository", "--raw"))
	token := printed[len(printed)-1]
	deploy, stranger := gittest.NewKey(t, ""), gittest.NewKey(t, "")
	forge.api(http.MethodPost, "/repos/"+owner+"/private/keys", map[string]any{
		"title": "deploy", "key": string(ssh.MarshalAuthorizedKey(deploy.Signer.PublicKey())), "read_only": true,
	}, nil)
	known := knownhosts.Line([]string{forge.ssh}, forge.hostKey())
	over := func(path string) string { return forge.url + "/" + owner + "/" + path }
	overSSH := func(path string) string { return "ssh://git@" + forge.ssh + "/" + owner + "/" + path }
	identity := func(k gittest.Key) map[string]string {
		return map[string]string{"identity": string(k.PEM), "known_hosts": known}
	}
	tests := []struct {
		name   string
		url    string
		secret map[string]string
		want   string
		kind   fault.Kind
	}{
		{"public", over("public.git"), nil, public, ""},
		{"public without .git", over("public"), nil, public, ""},
		{"private with password", over("private.git"), map[string]string{"username": owner, "password": password}, private, ""},
		{"private with token as password", over("private.git"), map[string]string{"username": owner, "password": token}, private, ""},
		{"private with token as user", over("private.git"), map[string]string{"username": token, "password": "x-oauth-basic"}, private, ""},
		{"private with bearer token", over("private.git"), map[string]string{"bearerToken": token}, private, ""},
		{"private without anything", over("private.git"), nil, "", fault.Unauthorized},
		{"wrong password", over("private.git"), map[string]string{"username": owner, "password": "wrong"}, "", fault.Unauthorized},
		{"wrong bearer token", over("private.git"), map[string]string{"bearerToken": "wrong"}, "", fault.Unauthorized},
		{"missing", over("none.git"), map[string]string{"username": owner, "password": password}, "", fault.NotFound},
		{"deploy key", overSSH("private.git"), identity(deploy), private, ""},
		{"deploy key of another repository", overSSH("other.git"), identity(deploy), "", fault.NotFound},
		{"missing over SSH", overSSH("none.git"), identity(deploy), "", fault.NotFound},
		{"unknown key", overSSH("private.git"), identity(stranger), "", fault.Unauthorized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			name := ""
			if tt.secret != nil {
				name = "s"
			}
			l := lister(t, secret("s", tt.secret))
			for range 2 {
				got, err := list(t.Context(), l, source("app", tt.url, name))
				g.Expect(fault.KindOf(err)).To(Equal(tt.kind), "%v", err)
				g.Expect(got).To(Equal(tt.want))
				if err != nil {
					g.Expect(err.Error()).NotTo(ContainSubstring("wrong"))
				}
			}
		})
	}
}
