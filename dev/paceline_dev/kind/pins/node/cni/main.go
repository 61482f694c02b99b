// Command cni gives the pods of a node their network: kindnetd is in no registry that a closed machine can reach.
//
// It does three things, again and again, and says so only when something has changed: it writes the CNI configuration
// (ptp and host-local) for the node's own range of pod addresses, keeps a route to the range of every other node, and
// lets what leaves the pods' network carry the node's address. It does not enforce NetworkPolicies.
package main

import (
	"fmt"
	"log"
	"os"
	"time"
)

const interval = 2 * time.Second

// daemon is what one node's run remembers, so that it acts and speaks only on changes.
type daemon struct {
	node, subnet string
	api          *api
	written      string
	routes       map[string]string
	complaint    string
}

func main() {
	log.SetFlags(log.LstdFlags | log.LUTC)
	d, err := configured()
	if err != nil {
		log.Fatalf("cannot start: %v", err)
	}
	log.Printf("node %s, pods in %s, nodes are looked up every %s", d.node, d.subnet, interval)
	for ; ; time.Sleep(interval) {
		d.complain(d.turn())
	}
}

func configured() (*daemon, error) {
	d := &daemon{node: os.Getenv("NODE_NAME"), subnet: os.Getenv("POD_SUBNET"), routes: map[string]string{}}
	if d.node == "" || d.subnet == "" {
		return nil, fmt.Errorf("NODE_NAME is %q and POD_SUBNET is %q: the manifest must set both", d.node, d.subnet)
	}
	var err error
	d.api, err = inCluster()
	return d, err
}

// turn brings the node into line with the list of nodes.
func (d *daemon) turn() error {
	nodes, err := d.api.nodes()
	if err != nil {
		return err
	}
	if err := forward(); err != nil {
		return err
	}
	if err := masquerade(d.subnet); err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Spec.PodCIDR == "" {
			continue // the controller manager has not given it one yet
		}
		if n.Metadata.Name == d.node {
			err = d.writeConfiguration(n.Spec.PodCIDR)
		} else {
			err = d.route(n)
		}
		if err != nil {
			return err
		}
	}
	return d.forget(nodes)
}

// complain says an error once, not every two seconds, and says when it is over.
func (d *daemon) complain(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != d.complaint && said != "" {
		log.Printf("trying again in %s: %s", interval, said)
	} else if said != d.complaint {
		log.Print("well again")
	}
	d.complaint = said
}
