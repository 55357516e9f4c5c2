"""What people look at while the nodes run: a view of the graph, `sysid watch`, and the rqt panels."""
