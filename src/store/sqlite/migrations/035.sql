-- Nothing writes beside a service any more: what operators do and ask for comes by its control socket.
DROP TABLE operator_acts;
DROP TABLE owner_requests;
