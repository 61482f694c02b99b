package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// node is the part of a Node that matters here.
type node struct {
	Metadata struct{ Name string }
	Spec     struct{ PodCIDR string }
	Status   struct {
		Addresses []struct{ Type, Address string }
	}
}

// address is where other nodes reach it, empty while the kubelet has not said so.
func (n node) address() string {
	for _, a := range n.Status.Addresses {
		if a.Type == "InternalIP" && strings.Contains(a.Address, ".") {
			return a.Address
		}
	}
	return ""
}

// api is the API server as the service account of this pod sees it.
type api struct {
	url    string
	client *http.Client
}

func inCluster() (*api, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, fmt.Errorf("KUBERNETES_SERVICE_HOST is not set: this runs only in a pod")
	}
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return nil, fmt.Errorf("the service account is not mounted: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%sca.crt holds no certificate", account)
	}
	// A connection that was made before kube-proxy knew the way would hang until its end: each request has its own.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}
	client := &http.Client{Timeout: 3 * time.Second, Transport: transport}
	return &api{"https://" + net.JoinHostPort(host, port), client}, nil
}

// nodes lists them all; the token is read each time, since the kubelet renews it.
func (a *api) nodes() ([]node, error) {
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodGet, a.url+"/api/v1/nodes", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the API server does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the API server answers %s to a list of nodes", response.Status)
	}
	var list struct{ Items []node }
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return nil, fmt.Errorf("the list of nodes is broken: %w", err)
	}
	return list.Items, nil
}
