"""The balancer around its core: loads asked for, proposals, approval, moves."""
