package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
)

const (
	folder        = "/etc/cni/net.d"
	configuration = folder + "/10-paceline.conflist"
	leases        = "/run/cni-ipam-state"
	forwarding    = "/proc-sys-net-ipv4/ip_forward"
)

type object = map[string]any

// writeConfiguration tells the container runtime how to connect pods; the node becomes Ready by it.
func (d *daemon) writeConfiguration(podCIDR string) error {
	if d.written == podCIDR {
		return nil
	}
	addresses := object{
		"type":    "host-local",
		"dataDir": leases,
		"routes":  []object{{"dst": "0.0.0.0/0"}},
		"ranges":  [][]object{{{"subnet": podCIDR}}},
	}
	text, err := json.MarshalIndent(object{
		"cniVersion": "0.3.1",
		"name":       "paceline",
		"plugins": []object{
			{"type": "ptp", "ipMasq": false, "ipam": addresses},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	unfinished := folder + "/.paceline.tmp"
	if err := os.WriteFile(unfinished, text, 0o644); err != nil {
		return err
	}
	if err := os.Rename(unfinished, configuration); err != nil {
		return err
	}
	d.written = podCIDR
	log.Printf("wrote %s: pods of this node are in %s", configuration, podCIDR)
	return nil
}

// route leads to the pods of another node.
func (d *daemon) route(n node) error {
	via := n.address()
	if via == "" || d.routes[n.Spec.PodCIDR] == via {
		return nil
	}
	if err := run("ip", "route", "replace", n.Spec.PodCIDR, "via", via); err != nil {
		return err
	}
	d.routes[n.Spec.PodCIDR] = via
	log.Printf("pods of %s: %s via %s", n.Metadata.Name, n.Spec.PodCIDR, via)
	return nil
}

// forget removes the routes to nodes that are gone.
func (d *daemon) forget(nodes []node) error {
	present := map[string]bool{}
	for _, n := range nodes {
		present[n.Spec.PodCIDR] = true
	}
	for podCIDR := range d.routes {
		if present[podCIDR] {
			continue
		}
		if err := run("ip", "route", "delete", podCIDR); err != nil {
			return err
		}
		delete(d.routes, podCIDR)
		log.Printf("the node of %s is gone", podCIDR)
	}
	return nil
}

// forward lets the node pass on what is not for itself. The first pod would bring that about, but a port of a node
// leads to pods of other nodes also where there is none.
func forward() error {
	return os.WriteFile(forwarding, []byte("1"), 0o644)
}

// masquerade gives packets from a pod to anything but a pod the address of the node; the rule is made again when
// somebody has flushed it.
func masquerade(subnet string) error {
	rule := []string{
		"POSTROUTING", "-s", subnet, "!", "-d", subnet, "-m", "addrtype", "!", "--dst-type", "LOCAL",
		"-m", "comment", "--comment", "paceline-cni", "-j", "MASQUERADE",
	}
	table := []string{"iptables", "-w", "-t", "nat"}
	if run(append(append(table, "-C"), rule...)...) == nil {
		return nil
	}
	return run(append(append(table, "-A"), rule...)...)
}

func run(command ...string) error {
	said, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(said)))
	}
	return nil
}
