// Command probe is the whole content of the image that the end-to-end tests run in pods: a small server, and a client
// for what a pod does on its network.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	usage   = "serve | get URL COUNT | lookup NAME | api PATH | knock TOKEN ADDRESS... | echo"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(words []string) error {
	command := ""
	if len(words) > 0 {
		command, words = words[0], words[1:]
	}
	switch {
	case command == "serve":
		return serve()
	case command == "get" && len(words) == 2:
		return get(words[0], words[1])
	case command == "lookup" && len(words) == 1:
		return lookup(words[0])
	case command == "api" && len(words) == 1:
		return api(words[0])
	case command == "knock" && len(words) > 1:
		return knock(words[0], words[1:])
	case command == "echo":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	}
	return fmt.Errorf("usage: probe %s", usage)
}

// serve answers with the name of the pod.
func serve() error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	log.Printf("%s serves", name)
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, name) })
	return http.ListenAndServe(":8080", nil)
}

// get asks again and again, each time by a new connection, so that a Service chooses each time.
func get(url, count string) error {
	times, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range times {
		if err := show(client.Get(url)); err != nil {
			return err
		}
	}
	return nil
}

func show(answer *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", answer.Status)
	}
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func lookup(name string) error {
	addresses, err := net.LookupHost(name)
	if err != nil {
		return err
	}
	fmt.Println(strings.Join(addresses, " "))
	return nil
}

// api asks the API server by its Service, as the pod's service account.
func api(path string) error {
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	request, err := http.NewRequest(http.MethodGet, "https://kubernetes.default.svc"+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	client := http.Client{Timeout: 5 * time.Second, Transport: transport}
	return show(client.Do(request))
}

// knock sends a token to each address and tries to connect to it; that nobody answers is expected.
func knock(token string, addresses []string) error {
	for _, address := range addresses {
		fmt.Printf("%s udp: %v\n", address, send(token, address))
		connection, err := net.DialTimeout("tcp", net.JoinHostPort(address, "80"), time.Second)
		if err == nil {
			connection.Close()
		}
		fmt.Printf("%s tcp: %v\n", address, err)
	}
	return nil
}

func send(token, address string) error {
	connection, err := net.Dial("udp", net.JoinHostPort(address, "53"))
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = connection.Write([]byte(token))
	return err
}
